// The query commands: one table with an entry for each. The command line, the query process, its clients, help and
// documentation are generated from it; a new statistic is a file and a line in command.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// The input of a command. All is borrowed.
struct QueryInput {
    const OptionValues& values;  // checked
    const Selection& selection;
    const StoreReader& store;
    const SymbolPaths& paths;
    UtcNs now;
    QueryContext* context = nullptr;
};

// Filters of rows that a command offers: none; threads and CPUs; or frames, too.
enum class QueryFilters : std::uint8_t { kNone, kRows, kFrames };

struct QueryCommand {
    std::string name;
    std::vector<std::string> aliases;
    std::string summary;                // one line of help
    std::string footer;                 // below the help of its options
    std::vector<OptionSpec> options;    // in addition to those of every command (selection_options)
    std::string rows;                   // the noun in "no ROWS are in the selection", for empty answers
    std::string empty_hint;             // hint what to do about an empty answer
    SessionUse use = SessionUse::kAny;  // of the sessions that `last` counts; kProfile, kDurations, kTracepoints: a
                                        // local store's last one is meant unless the selection says otherwise
    bool is_inventory = false;          // an inventory: its empty answer needs no hint at an inventory
    QueryFilters filters = QueryFilters::kRows;
    bool has_event = true;  // whether an event may be selected
    std::function<Result<Done>(const OptionValues&, const Selection&, UtcNs now)> check;
    std::function<Result<Answer>(const QueryInput&)> run;

    // `use`, unless these options pair tracepoints.
    [[nodiscard]] SessionUse use_with(const OptionValues& values) const;
    // The options that all commands have, as far as this one offers them.
    [[nodiscard]] std::vector<OptionSpec> selection() const;
};

[[nodiscard]] std::span<const QueryCommand> query_commands();

// Finds a command by name or alias. Errors: kUsage.
[[nodiscard]] Result<const QueryCommand*> find_query_command(std::string_view name);

// Checks the command and its options; run_query does the same first.
[[nodiscard]] Result<Done> check_query(std::string_view command, const OptionValues& values_untrusted, UtcNs now);

[[nodiscard]] Result<Answer> run_query(std::string_view command, const OptionValues& values_untrusted,
                                       const StoreReader& store, const SymbolPaths& paths, UtcNs now,
                                       QueryContext* context = nullptr);

}  // namespace perfleet
