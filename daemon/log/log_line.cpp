#include "daemon/log/log_line.h"

#include <algorithm>

#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

// Printable text in quotation marks: only quotes and backslashes remain to be escaped.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char letter : printable(text)) {
        if (letter == '"' || letter == '\\') {
            out += '\\';
        }
        out += letter;
    }
    return out + "\"";
}

}  // namespace

std::string_view level_name(LogLevel level) {
    const auto* const found = std::find_if(kLogLevelNames.begin(), kLogLevelNames.end(),
                                           [&](const auto& entry) { return entry.second == level; });
    PERFLEET_ASSERT(found != kLogLevelNames.end());
    return found->first;
}

std::string text_line(std::string_view program, const LogEvent& event, std::uint64_t suppressed) {
    std::string line{program};
    line += ": " + printable(event.text());
    for (const LogField& field : event.fields()) {
        line += " " + std::string{field.name} + "=" + quoted(field.value);
    }
    if (suppressed > 0) {
        line += " suppressed=" + std::to_string(suppressed);
    }
    return line;
}

std::string json_members(std::string_view program, const LogEvent& event, std::uint64_t suppressed) {
    std::string members = "\"level\":" + quoted(level_name(event.level())) + ",\"program\":" + quoted(program);
    if (!event.kind().empty()) {
        members += ",\"kind\":" + quoted(event.kind());
    }
    members += ",\"message\":" + quoted(event.text());
    for (const LogField& field : event.fields()) {
        members += "," + quoted(field.name) + ":" + quoted(field.value);
    }
    if (suppressed > 0) {
        members += ",\"suppressed\":" + std::to_string(suppressed);
    }
    return members;
}

}  // namespace perfleet
