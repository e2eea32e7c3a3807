// How an event looks as one line, for people and for machines. Whatever a peer wrote into it stays within that line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/vocabulary/log_event.h"

namespace perfleet {

[[nodiscard]] std::string_view level_name(LogLevel level);

// Control characters, and bytes that aren't UTF-8, as \xNN. Newlines as \n.
[[nodiscard]] std::string on_one_line(std::string_view text_untrusted);

// `program: text field="value" suppressed=3`
[[nodiscard]] std::string text_line(std::string_view program, const LogEvent& event, std::uint64_t suppressed);

// The members of an object, without its braces and its time: `"level":"warning","program":…,"message":…,"field":…`
[[nodiscard]] std::string json_members(std::string_view program, const LogEvent& event, std::uint64_t suppressed);

}  // namespace perfleet
