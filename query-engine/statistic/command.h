// The table commands by name, with their options as text: what `perfleet COMMAND` asks, of a data folder or over the
// wire, and gets the same bytes from both.
//
// Option names are those of the command line without dashes: select, session, event (not of targets, sessions and
// controls), from, to, exact, threads, memory;
// of top also by, weight, limit; of tree min-percent, weight; those of latency, diff, kernel-entries, tracepoints and
// counters stand in latency_command.h, diff_command.h, kernel_entries.h, tracepoints.h, counters.h. Errors: kUsage
// names the option.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

using CommandOptions = std::map<std::string, std::string>;

// The options that every command has. `now` is what relative times count from.
[[nodiscard]] Result<Selection> parse_selection(const CommandOptions& options, UtcNs now);

[[nodiscard]] std::vector<std::string_view> table_commands();

// Whether the command and its options are understood; run_table_command checks the same.
[[nodiscard]] Result<Done> check_table_command(std::string_view command, const CommandOptions& options, UtcNs now);

// The pool bounds what several queries take together.
[[nodiscard]] Result<Answer> run_table_command(std::string_view command, const CommandOptions& options,
                                               const StoreReader& store, const SymbolPaths& paths, UtcNs now,
                                               MemoryPool* pool = nullptr);

}  // namespace perfleet
