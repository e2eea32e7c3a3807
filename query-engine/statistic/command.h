// The query commands: one entry each in one table. The command line, the query process and its clients, help and
// documentation are made from it; a new statistic is a file and a line in command.cpp.
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

// What a command is run with. All is borrowed.
struct QueryInput {
    const OptionValues& values;  // checked
    const Selection& selection;
    const StoreReader& store;
    const SymbolPaths& paths;
    UtcNs now;
    QueryContext* context = nullptr;
};

// Which sessions of a local store are meant where nothing is selected.
enum class QuerySessions : std::uint8_t { kLast, kAll };

// Which filters of rows a command has: none, those of threads and processors, or those of frames, too.
enum class QueryFilters : std::uint8_t { kNone, kRows, kFrames };

struct QueryCommand {
    std::string name;
    std::vector<std::string> aliases;
    std::string summary;              // one line of help
    std::string footer;               // below the help of its options
    std::vector<OptionSpec> options;  // beside those of every command (selection_options)
    std::string rows;                 // what an empty answer has none of: "no ROWS are in the selection"
    std::string way_out;              // what to do where there are none of them
    QuerySessions sessions = QuerySessions::kAll;
    bool lists_what_there_is = false;  // inventory: an empty answer needs no hint at one
    QueryFilters filters = QueryFilters::kRows;
    bool has_event = true;  // whether an event may be selected
    std::function<Result<Done>(const OptionValues&, const Selection&, UtcNs now)> check;
    std::function<Result<Answer>(const QueryInput&)> run;

    // The options of every command, as this one has them.
    [[nodiscard]] std::vector<OptionSpec> selection() const;
};

[[nodiscard]] std::span<const QueryCommand> query_commands();

// By its name or an alias. Errors: kUsage.
[[nodiscard]] Result<const QueryCommand*> find_query_command(std::string_view name);

// Whether the command and its options are understood; run_query checks the same.
[[nodiscard]] Result<Done> check_query(std::string_view command, const OptionValues& values_untrusted, UtcNs now);

[[nodiscard]] Result<Answer> run_query(std::string_view command, const OptionValues& values_untrusted,
                                       const StoreReader& store, const SymbolPaths& paths, UtcNs now,
                                       QueryContext* context = nullptr);

}  // namespace perfleet
