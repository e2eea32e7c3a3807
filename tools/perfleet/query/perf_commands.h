// Commands and options of perf that perfleet doesn't have, with their replacements.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/option/option.h"

namespace CLI {
class App;
}

namespace perfleet {

// The replacement of a perf command, which the word `next` follows, as a sentence; empty if perf has no such command,
// or perfleet has it, too.
[[nodiscard]] std::string_view instead_of_perf_command(std::string_view name, std::string_view next);

// Adds options that perf's commands have and perfleet's of the same name lack: ignored with a note, or rejected with
// their replacement.
void add_perf_query_options(CLI::App& app);

// The options of a command, with the names that perf has for them.
[[nodiscard]] std::vector<OptionSpec> with_perf_aliases(std::string_view command, std::vector<OptionSpec> options);

}  // namespace perfleet
