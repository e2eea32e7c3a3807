#include "exporters/format/export_format.h"

#include <algorithm>
#include <utility>

#include "exporters/firefox/firefox_exporter.h"
#include "exporters/folded/folded_exporter.h"
#include "exporters/html/html_exporter.h"
#include "exporters/perf-data/perf_data_exporter.h"
#include "exporters/perfetto/perfetto_exporter.h"
#include "exporters/pprof/pprof_exporter.h"
#include "exporters/schedule/schedule_exporter.h"
#include "exporters/script/script_exporter.h"
#include "exporters/speedscope/speedscope_exporter.h"
#include "query-engine/statistic/frame_filter.h"
#include "query-engine/statistic/source_expansion.h"

namespace perfleet {
namespace {

Result<ExportOutcome> write_perf_data(const ExportInput& input, Symbolizer&, const PerfDataOptions& options,
                                      ExportSink& sink) {
    auto summary = PERFLEET_TRY(export_perf_data(input.scan, options, sink));
    return ExportOutcome{summary.last_time, std::to_string(summary.sample_count) + " samples",
                         std::move(summary.ledger), std::move(summary.warnings)};
}

Result<ExportOutcome> write_html(const ExportInput& input, Symbolizer& symbolizer, const HtmlOptions& options,
                                 ExportSink& sink) {
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
using Writer = std::function<Result<ExportOutcome>(const ExportInput&, Symbolizer&, const Options&, ExportSink&)>;

// Of functions that need the scan alone of the input.
template <class Options>
Writer<Options> of_scan(Result<ExportOutcome> (*write)(const Scan&, Symbolizer&, const Options&, ExportSink&)) {
    return [write](const ExportInput& input, Symbolizer& symbolizer, const Options& options, ExportSink& sink) {
        return write(input.scan, symbolizer, options, sink);
    };
}
template <class Options>
Writer<Options> of_scan(Result<ExportOutcome> (*write)(const Scan&, const Options&, ExportSink&)) {
    return [write](const ExportInput& input, Symbolizer&, const Options& options, ExportSink& sink) {
        return write(input.scan, options, sink);
    };
}
Writer<NoOptions> of_scan(Result<ExportOutcome> (*write)(const Scan&, Symbolizer&, ExportSink&)) {
    return [write](const ExportInput& input, Symbolizer& symbolizer, const NoOptions&, ExportSink& sink) {
        return write(input.scan, symbolizer, sink);
    };
}

// `format` with the options of `table`, written by `write`.
template <class Options>
ExportFormat with_options(ExportFormat format, const OptionTable<Options>& table, const Writer<Options>& write) {
    format.options = table.specs();
    format.check = [&table](const OptionValues& values) { return table.check(values); };
    format.write = [&table, write](const ExportInput& input, ExportSink& sink) -> Result<ExportOutcome> {
        const Options options = PERFLEET_TRY(table.read(input.values));
        Symbolizer symbolizer{&input.scan.store(), input.paths, input.scan.selection().symbols_size_bytes_max()};
        return write(input, symbolizer, options, sink);
    };
    return format;
}

}  // namespace

std::span<const ExportFormat> export_formats() {
    static const std::vector<ExportFormat> kFormats{
        with_options<PerfDataOptions>(
            {.name = "perf.data", .summary = "for perf", .is_sequential = false, .keeps_old = true},
            perf_data_options(), write_perf_data),
        with_options({.name = "folded", .summary = "collapsed stacks, for flame graphs"}, inline_option(),
                     of_scan(export_folded)),
        with_options<HtmlOptions>(
            {.name = "html", .summary = "flame graph, a page for browsers", .has_own_command = true}, html_options(),
            write_html),
        with_options({.name = "pprof", .summary = "for go tool pprof, speedscope and others"}, inline_option(),
                     of_scan(export_pprof)),
        with_options({.name = "speedscope", .summary = "for speedscope, with the time of each sample"}, no_options(),
                     of_scan(export_speedscope)),
        with_options({.name = "firefox", .summary = "for the Firefox Profiler"}, no_options(), of_scan(export_firefox)),
        with_options({.name = "perfetto", .summary = "for ui.perfetto.dev: samples, tracepoints and scheduling"},
                     no_options(), of_scan(export_perfetto)),
        with_options({.name = "timeline", .summary = "what each CPU ran when, a page for browsers, SVG or PNG"},
                     schedule_options(), of_scan(export_schedule)),
        with_options({.name = "script",
                      .summary = "Print samples and tracepoints, a line or an object each, as perf script does",
                      .is_command = true},
                     script_options(), of_scan(export_script))};
    return kFormats;
}

const ExportFormat* find_export_format(std::string_view name) {
    const auto formats = export_formats();
    const auto found =
        std::find_if(formats.begin(), formats.end(), [&](const auto& format) { return format.name == name; });
    return found == formats.end() ? nullptr : &*found;
}

}  // namespace perfleet
