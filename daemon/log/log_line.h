// Formats an event as one line, for people or for machines. Text of peers can't break out of the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/vocabulary/log_event.h"

namespace perfleet {

[[nodiscard]] std::string_view level_name(LogLevel level);

// `program: text field="value" suppressed=3`
[[nodiscard]] std::string text_line(std::string_view program, const LogEvent& event, std::uint64_t suppressed);

// The members of an object, without its braces and its time: `"level":"warning","program":…,"message":…,"field":…`
[[nodiscard]] std::string json_members(std::string_view program, const LogEvent& event, std::uint64_t suppressed);

}  // namespace perfleet
