// The commands of perf that perfleet doesn't have, for those who type them.
#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace perfleet {

// What does that command's work here, as a line to type or a sentence; empty where perf has no such command, or
// perfleet has it too.
[[nodiscard]] std::string_view instead_of_perf_command(std::string_view name);

// Options that perf's commands have and perfleet's of the same name don't: each is refused with what to use instead.
void add_perf_query_options(CLI::App& app);

}  // namespace perfleet
