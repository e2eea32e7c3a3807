#include "exporters/format/export_format.h"

#include <algorithm>
#include <utility>

#include "exporters/firefox/firefox_exporter.h"
#include "exporters/folded/folded_exporter.h"
#include "exporters/html/html_exporter.h"
#include "exporters/perf-data/perf_data_exporter.h"
#include "exporters/perfetto/perfetto_exporter.h"
#include "exporters/pprof/pprof_exporter.h"
#include "exporters/script/script_exporter.h"
#include "exporters/speedscope/speedscope_exporter.h"
#include "query-engine/statistic/frame_filter.h"
#include "query-engine/statistic/source_expansion.h"

namespace perfleet {
namespace {

Result<ExportOutcome> write_perf_data(const ExportInput& input, ExportSink& sink) {
    const auto options = PERFLEET_TRY(perf_data_options().read(input.values));
    auto summary = PERFLEET_TRY(export_perf_data(input.scan, options, sink));
    return ExportOutcome{summary.last_time, std::to_string(summary.sample_count) + " samples",
                         std::move(summary.ledger), std::move(summary.warnings)};
}

Result<ExportOutcome> write_folded(const ExportInput& input, ExportSink& sink) {
    Symbolizer symbolizer{&input.scan.store(), input.paths};
    const auto options = PERFLEET_TRY(inline_option().read(input.values));
    auto folded = PERFLEET_TRY(export_folded(input.scan, symbolizer, options));
    if (Result<Done> written = sink.write_at(0, std::as_bytes(std::span{folded.text})); !written.ok()) {
        return std::move(written).error();
    }
    return ExportOutcome{std::nullopt, "collapsed stacks", std::move(folded.ledger), std::move(folded.warnings)};
}

// Formats without options.
template <Result<ExportOutcome> (*export_to)(const Scan&, Symbolizer&, ExportSink&)>
Result<ExportOutcome> write_by(const ExportInput& input, ExportSink& sink) {
    Symbolizer symbolizer{&input.scan.store(), input.paths};
    return export_to(input.scan, symbolizer, sink);
}

Result<ExportOutcome> write_pprof(const ExportInput& input, ExportSink& sink) {
    const auto options = PERFLEET_TRY(inline_option().read(input.values));
    Symbolizer symbolizer{&input.scan.store(), input.paths};
    return export_pprof(input.scan, symbolizer, sink, options);
}

Result<ExportOutcome> write_script(const ExportInput& input, ExportSink& sink) {
    const auto options = PERFLEET_TRY(script_options().read(input.values));
    Symbolizer symbolizer{&input.scan.store(), input.paths};
    return export_script(input.scan, symbolizer, options, sink);
}

Result<ExportOutcome> write_html(const ExportInput& input, ExportSink& sink) {
    const auto options = PERFLEET_TRY(html_options().read(input.values));
    Symbolizer symbolizer{&input.scan.store(), input.paths};
    if (options.before.empty()) {
        return export_html(input.scan, nullptr, symbolizer, options, sink);
    }
    const auto selection = PERFLEET_TRY(before_selection(options.before, input.scan.selection(), input.now));
    Result<Scan> before = Scan::open(input.scan.store(), selection, input.pool);
    if (!before.ok()) {
        return Error{before.error().code, "--before: " + before.error().message};
    }
    filter_frames(*before, input.paths);
    return export_html(input.scan, &*before, symbolizer, options, sink);
}

template <class Options>
std::function<Result<Done>(const OptionValues&)> check_by(const OptionTable<Options>& table) {
    return [&table](const OptionValues& values) -> Result<Done> {
        const Result<Options> options = table.read(values);
        return options.ok() ? Result<Done>{Done{}} : Error{options.error()};
    };
}

}  // namespace

std::span<const ExportFormat> export_formats() {
    static const std::vector<ExportFormat> kFormats{
        {.name = "perf.data",
         .summary = "for perf",
         .is_sequential = false,
         .options = perf_data_options().specs(),
         .check = check_by(perf_data_options()),
         .write = write_perf_data},
        {.name = "folded",
         .summary = "collapsed stacks, for flame graphs",
         .options = inline_option().specs(),
         .check = check_by(inline_option()),
         .write = write_folded},
        {.name = "html",
         .summary = "flame graph, a page for browsers",
         .options = html_options().specs(),
         .check = check_by(html_options()),
         .write = write_html},
        {.name = "pprof",
         .summary = "for go tool pprof, speedscope and others",
         .options = inline_option().specs(),
         .check = check_by(inline_option()),
         .write = write_pprof},
        {.name = "speedscope",
         .summary = "for speedscope, with the time of each sample",
         .write = write_by<export_speedscope>},
        {.name = "firefox", .summary = "for the Firefox Profiler", .write = write_by<export_firefox>},
        {.name = "perfetto",
         .summary = "for ui.perfetto.dev: samples, tracepoints and scheduling",
         .write = write_by<export_perfetto>},
        {.name = "script",
         .summary = "Print samples and tracepoints, a line or an object each, as perf script does",
         .is_command = true,
         .options = script_options().specs(),
         .check = check_by(script_options()),
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
