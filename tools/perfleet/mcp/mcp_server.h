// The Model Context Protocol (2024-11-05 to 2025-11-25), by which assistants call tools: JSON-RPC, a message a line.
//
// One thread. Messages are untrusted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/option/option.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct McpTool {
    std::string name;
    std::string summary;
    std::vector<OptionSpec> options;  // its arguments
    std::function<Result<std::string>(OptionValues)> call;
};

class McpServer {
public:
    static constexpr std::size_t kMessageSizeBytesMax = 1U << 20;

    // `instructions`: text for the assistant about all tools.
    McpServer(std::vector<McpTool> tools, std::string version, std::string instructions);

    // The reply to a message, without a line's end; nothing: none is due.
    [[nodiscard]] std::optional<std::string> answer(std::string_view message_untrusted) const;

private:
    std::vector<McpTool> tools_;
    std::string version_;
    std::string instructions_;
};

}  // namespace perfleet
