// The formats of exports: one entry each in one table. The command line and the query process use the same one; a new
// format is a folder and a line in export_format.cpp.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/sink/export_sink.h"
#include "query-engine/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// What an export is made from. Borrowed.
struct ExportInput {
    const Scan& scan;
    const SymbolPaths& paths;
    const OptionValues& values;
    UtcNs now;                   // what relative times count from
    MemoryPool* pool = nullptr;  // of further scans
};

struct ExportFormat {
    std::string name;
    std::string summary;
    bool is_sequential = true;                                 // may be written to a pipe
    bool is_command = false;                                   // `perfleet NAME` instead of `perfleet export --to NAME`
    bool has_own_command = false;                              // `export --to NAME` has none of its options
    bool keeps_old = false;                                    // a file that exists is renamed, as perf does
    std::vector<OptionSpec> options{};                         // beside those of every query (selection_options)
    std::function<Result<Done>(const OptionValues&)> check{};  // the values of `options`
    // Errors: kUsage, of the options; kNotFound when the selection holds nothing to export; those of store and sink.
    std::function<Result<ExportOutcome>(const ExportInput&, ExportSink&)> write{};
};

[[nodiscard]] std::span<const ExportFormat> export_formats();

// nullptr if there is none of this name.
[[nodiscard]] const ExportFormat* find_export_format(std::string_view name);

}  // namespace perfleet
