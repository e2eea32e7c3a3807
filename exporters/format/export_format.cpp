#include "exporters/format/export_format.h"

#include <algorithm>
#include <utility>

#include "exporters/folded/folded_exporter.h"
#include "exporters/perf-data/perf_data_exporter.h"
#include "exporters/script/script_exporter.h"

namespace perfleet {
namespace {

Result<ExportOutcome> write_perf_data(const Scan& scan, const SymbolPaths&, const OptionValues&, ExportSink& sink) {
    Result<ExportSummary> summary = export_perf_data(scan, sink);
    if (!summary.ok()) {
        return std::move(summary).error();
    }
    return ExportOutcome{summary->last_time, std::to_string(summary->sample_count) + " samples",
                         std::move(summary->ledger), std::move(summary->warnings)};
}

Result<ExportOutcome> write_folded(const Scan& scan, const SymbolPaths& paths, const OptionValues&, ExportSink& sink) {
    Symbolizer symbolizer{&scan.store(), paths};
    Result<FoldedStacks> folded = export_folded(scan, symbolizer);
    if (!folded.ok()) {
        return std::move(folded).error();
    }
    if (Result<Done> written = sink.write_at(0, std::as_bytes(std::span{folded->text})); !written.ok()) {
        return std::move(written).error();
    }
    return ExportOutcome{std::nullopt, "collapsed stacks", std::move(folded->ledger), std::move(folded->warnings)};
}

Result<ExportOutcome> write_script(const Scan& scan, const SymbolPaths& paths, const OptionValues& values,
                                   ExportSink& sink) {
    const Result<ScriptOptions> options = script_options().read(values);
    if (!options.ok()) {
        return Error{options.error()};
    }
    Symbolizer symbolizer{&scan.store(), paths};
    return export_script(scan, symbolizer, *options, sink);
}

}  // namespace

std::span<const ExportFormat> export_formats() {
    static const std::vector<ExportFormat> kFormats{
        {.name = "perf.data", .summary = "for perf", .is_sequential = false, .write = write_perf_data},
        {.name = "folded", .summary = "collapsed stacks, for flame graphs", .write = write_folded},
        {.name = "script",
         .summary = "Print samples and tracepoints, a line or an object each, as perf script does",
         .is_command = true,
         .options = script_options().specs(),
         .check = [](const OptionValues& values) -> Result<Done> {
             const Result<ScriptOptions> options = script_options().read(values);
             return options.ok() ? Result<Done>{Done{}} : Error{options.error()};
         },
         .write = write_script},
    };
    return kFormats;
}

const ExportFormat* find_export_format(std::string_view name) {
    const auto formats = export_formats();
    const auto found =
        std::find_if(formats.begin(), formats.end(), [&](const auto& format) { return format.name == name; });
    return found == formats.end() ? nullptr : &*found;
}

}  // namespace perfleet
