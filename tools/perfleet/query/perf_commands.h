// Commands and options of perf that perfleet doesn't have, with their replacements.
#pragma once

#include <string_view>

namespace CLI {
class App;
}

namespace perfleet {

// The replacement of a perf command, as a command line or a sentence; empty if perf has no such command, or perfleet
// has it, too.
[[nodiscard]] std::string_view instead_of_perf_command(std::string_view name);

// Adds options that perf's commands have and perfleet's of the same name lack: each is rejected with its replacement.
void add_perf_query_options(CLI::App& app);

}  // namespace perfleet
