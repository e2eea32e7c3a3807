#include "tools/perfleet/mcp/mcp_server.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace perfleet {
namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 32;
constexpr std::array<std::string_view, 4> kVersions{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};

// Of JSON-RPC.
enum Code : int { kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602 };

struct CallError {
    int code = kInvalidRequest;
    std::string message;
};

Json schema_of(const OptionSpec& option) {
    Json schema{{"description", option.summary}};
    switch (option.type) {
        case OptionType::kFlag: schema["type"] = "boolean"; break;
        case OptionType::kCount: schema["type"] = "integer"; break;
        case OptionType::kReal: schema["type"] = "number"; break;
        case OptionType::kChoice: schema["enum"] = option.choices; [[fallthrough]];
        case OptionType::kSize:
        case OptionType::kText: schema["type"] = "string"; break;
    }
    return schema;
}

Json schema_of(const McpTool& tool) {
    Json properties = Json::object();
    for (const OptionSpec& option : tool.options) {
        properties[option.name] = schema_of(option);
    }
    return {
        {"name", tool.name},
        {"description", tool.summary},
        {"inputSchema", {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}}},
        {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}};
}

Result<OptionValues> values_of(const McpTool& tool, const Json& arguments) {
    OptionValues values;
    for (const auto& argument : arguments.items()) {
        const OptionSpec* const option = find_option(tool.options, argument.key());
        const Json& value = argument.value();
        if (option == nullptr) {
            return Error{ErrorCode::kUsage, tool.name + " has no argument " + argument.key().substr(0, 64)};
        }
        if (value.is_boolean() && option->type == OptionType::kFlag) {
            if (value.get<bool>()) {
                values[option->name] = true;
            }
            continue;
        }
        if (value.is_structured() || value.is_null() || option->type == OptionType::kFlag) {
            return option_error(option->name, value.dump().substr(0, 64), "a value of its type");
        }
        values[option->name] =
            PERFLEET_TRY(parse_option(*option, value.is_string() ? value.get<std::string>() : value.dump()));
    }
    return values;
}

Json text_result(const std::string& text, bool is_error) {
    return {{"content", {{{"type", "text"}, {"text", text}}}}, {"isError", is_error}};
}

}  // namespace

McpServer::McpServer(std::vector<McpTool> tools, std::string version, std::string instructions)
    : tools_{std::move(tools)}, version_{std::move(version)}, instructions_{std::move(instructions)} {}

std::optional<std::string> McpServer::answer(std::string_view text) const {
    const auto line_of = [](Json message) {
        message["jsonrpc"] = "2.0";
        return message.dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    const auto error_line = [&](const Json& id, const CallError& error) {
        return line_of({{"id", id}, {"error", {{"code", error.code}, {"message", error.message}}}});
    };
    bool is_too_deep = false;
    const Json message = Json::parse(
        text,
        [&](int depth, Json::parse_event_t, Json&) {
            is_too_deep |= depth > kDepthMax;
            return !is_too_deep;
        },
        false);
    if (is_too_deep || message.is_discarded()) {
        return error_line(nullptr,
                          {kParseError, "the line isn't JSON of at most " + std::to_string(kDepthMax) + " levels"});
    }
    const auto member = [](const Json& object, const char* name) -> const Json& {
        static const Json kNone;
        const auto found = object.is_object() ? object.find(name) : object.end();
        return object.is_object() && found != object.end() ? *found : kNone;
    };
    const Json& id = member(message, "id");
    const Json& method = member(message, "method");
    if (!method.is_string() || !(id.is_null() || id.is_string() || id.is_number_integer())) {
        return message.is_object() && !method.is_string() && (message.contains("result") || message.contains("error"))
                   ? std::nullopt  // a reply, though nothing was asked
                   : std::optional{error_line(nullptr, {kInvalidRequest, "the message is no request of JSON-RPC 2.0"})};
    }
    if (!message.contains("id")) {
        return std::nullopt;  // a notification
    }
    const auto& name = method.get_ref<const std::string&>();
    const Json& params = member(message, "params");
    if (name == "initialize") {
        const Json& wanted = member(params, "protocolVersion");
        const bool is_known =
            wanted.is_string() && std::ranges::find(kVersions, wanted.get<std::string>()) != kVersions.end();
        return line_of({{"id", id},
                        {"result",
                         {{"protocolVersion", is_known ? wanted.get<std::string>() : std::string{kVersions.back()}},
                          {"capabilities", {{"tools", Json::object()}}},
                          {"serverInfo", {{"name", "perfleet"}, {"version", version_}}},
                          {"instructions", instructions_}}}});
    }
    if (name == "ping") {
        return line_of({{"id", id}, {"result", Json::object()}});
    }
    if (name == "tools/list") {
        Json tools = Json::array();
        std::ranges::transform(tools_, std::back_inserter(tools), [](const McpTool& tool) { return schema_of(tool); });
        return line_of({{"id", id}, {"result", {{"tools", std::move(tools)}}}});
    }
    if (name != "tools/call") {
        return error_line(id, {kMethodNotFound, "there is no method " + name.substr(0, 64)});
    }
    const Json& tool_name = member(params, "name");
    const Json& arguments = member(params, "arguments");
    const auto tool = std::ranges::find_if(
        tools_, [&](const McpTool& one) { return tool_name.is_string() && tool_name.get<std::string>() == one.name; });
    if (tool == tools_.end() || !(arguments.is_null() || arguments.is_object())) {
        return error_line(
            id, {kInvalidParams, tool == tools_.end() ? "there is no tool of this name" : "arguments isn't an object"});
    }
    // Errors of a tool are results: the assistant reads them, and may change its call.
    auto values = values_of(*tool, arguments.is_null() ? Json::object() : arguments);
    const auto answered = values.ok() ? tool->call(std::move(*values)) : Result<std::string>{values.error()};
    return line_of(
        {{"id", id}, {"result", text_result(answered.ok() ? *answered : answered.error().message, !answered.ok())}});
}

}  // namespace perfleet
