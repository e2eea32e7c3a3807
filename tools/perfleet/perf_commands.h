// The commands of perf that perfleet doesn't have, for those who type them.
#pragma once

#include <string_view>

namespace perfleet {

// What does that command's work here, as a line to type or a sentence; empty where perf has no such command, or
// perfleet has it too.
[[nodiscard]] std::string_view instead_of_perf_command(std::string_view name);

}  // namespace perfleet
