// What `export` and the commands that are formats of their own do: open the rows, write them, say what was written.
#pragma once

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
};

// The exit status.
[[nodiscard]] Result<int> run_export(ExportOptions& options);

}  // namespace perfleet
