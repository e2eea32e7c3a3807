// Runs an export for `export` and the format commands: opens the rows, writes the file, reports what was written.
#pragma once

#include <functional>
#include <string>

#include "tools/perfleet/query/query_source.h"

namespace perfleet {

struct ExportOptions {
    QueryOptions query;
    std::string format;  // of export_formats()
    std::string output = "-";
    bool is_forced = false;
    bool has_no_pager = false;
    bool has_symbols = false;  // --with-symbols
    // Produces the data to export, once the output is open; empty: they exist already.
    std::function<Result<Done>()> make_rows{};
};

// Returns the exit status.
[[nodiscard]] Result<int> run_export(ExportOptions& options);

}  // namespace perfleet
