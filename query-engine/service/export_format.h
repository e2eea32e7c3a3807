// The interface of an export format to the query service. Exporters implement it; each program passes the formats that
// it supports to the service.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/service/query.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// The input of an export. All is borrowed.
struct ExportInput {
    const Scan& scan;
    const SymbolPaths& paths;
    const OptionValues& values;
    UtcNs now;                        // base of relative times
    QueryContext* context = nullptr;  // for further scans
};

struct ExportFormat {
    std::string name;
    std::string summary;
    bool is_sequential = true;                                 // may be written to a pipe
    bool is_command = false;                                   // `perfleet NAME` instead of `perfleet export --to NAME`
    bool has_own_command = false;                              // `export --to NAME` offers none of its options
    bool keeps_old = false;                                    // an existing file is renamed, as perf does
    std::vector<OptionSpec> options{};                         // beside those of every query (selection_options)
    std::function<Result<Done>(const OptionValues&)> check{};  // the values of `options`
    // Errors: kUsage, of the options; kNotFound when the selection holds nothing to export; those of store and sink.
    std::function<Result<QueryEnd>(const ExportInput&, ExportSink&)> write{};
};

// `format` with the options of `table`, written by write(input, symbolizer, options, sink).
template <class Options, class Write>
[[nodiscard]] ExportFormat with_options(ExportFormat format, const OptionTable<Options>& table, Write write) {
    format.options = table.specs();
    format.check = [&table](const OptionValues& values) { return table.check(values); };
    format.write = [&table, write](const ExportInput& input, ExportSink& sink) -> Result<QueryEnd> {
        const Options options = PERFLEET_TRY(table.read(input.values));
        Symbolizer symbolizer{&input.scan.store(), input.paths, input.scan.selection().symbols_size_bytes_max()};
        return write(input, symbolizer, options, sink);
    };
    return format;
}

}  // namespace perfleet
