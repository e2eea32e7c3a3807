// `perfleet timeline`: the threads that each CPU ran, by time, as an HTML page without network, SVG or PNG.
//
// The same stored rows and options give the same bytes. An empty selection gives an empty figure and a warning. Errors:
// kTooLarge when the query's memory is exceeded; those of the store and the sink.
#include <span>
#include <string>

#include "exporters/figure/figure_page.h"
#include "exporters/schedule/schedule.h"
#include "exporters/schedule/schedule_figure.h"
#include "exporters/schedule/schedule_page.h"
#include "exporters/timeline/timeline.h"
#include "query-engine/scan/query_memory.h"
#include "query-engine/service/export_format.h"
#include "schemas/session/command_text.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

struct ScheduleOptions {
    std::string format = "html";
};

constexpr std::size_t kScheduleSpansMax = 150'000;  // of a page

// Approximate memory of a timeline and its figure.
constexpr std::size_t kThreadSizeBytes = 768;
constexpr std::size_t kRowSizeBytes = 128;

const OptionTable<ScheduleOptions>& schedule_options() {
    static const OptionTable<ScheduleOptions> kTable = OptionTable<ScheduleOptions>{}.choice(
        {.name = "as",
         .value_name = "FORMAT",
         .summary = "html, svg, png, or json: the page's data (default: as the name of the file ends)"},
        &ScheduleOptions::format, {{"html", "html"}, {"svg", "svg"}, {"png", "png"}, {"json", "json"}});
    return kTable;
}

// ", session 1a2b3c4d, 2026-11-30 12:41:33 UTC: make all"; of several nothing.
std::string origin_of(const Scan& scan) {
    if (scan.sessions().size() != 1) {
        return "";
    }
    const SessionRecord& record = scan.sessions().front().record;
    return ", session " + session_hex(record.session).substr(0, 8) +
           origin_text({command_text(record.host), format_time(scan.sessions().front().began())});
}

Result<QueryEnd> write_schedule(const ExportInput& input, Symbolizer&, const ScheduleOptions& options,
                                ExportSink& sink) {
    const Scan& scan = input.scan;
    const auto timeline = PERFLEET_TRY(Timeline::read_threads(scan));
    MemoryShare share{scan.memory()};
    share.set(timeline->threads().size() * kThreadSizeBytes + timeline->rows().size() * kRowSizeBytes);
    PERFLEET_TRY(scan.memory().check());
    Schedule schedule = make_schedule(schedule_rows(*timeline));
    const std::size_t run_count = schedule.span_count();
    if (options.format == "html" || options.format == "json") {
        merge_short_spans(schedule, kScheduleSpansMax);
    }
    QueryEnd outcome = timeline->outcome();
    outcome.summary = counted_noun(run_count, "run") + " of " + counted_noun(schedule.threads.size(), "thread") +
                      " on " + counted_noun(schedule.lanes.size(), "CPU");
    outcome.warnings.insert(outcome.warnings.end(), schedule.warnings.begin(), schedule.warnings.end());
    const FigurePage page = schedule_page(schedule, outcome.ledger, outcome.warnings, origin_of(scan));
    const auto bytes = PERFLEET_TRY(options.format == "svg"    ? Result<std::string>{svg_of(schedule_figure(schedule))}
                                    : options.format == "png"  ? png_of(schedule_figure(schedule))
                                    : options.format == "json" ? Result<std::string>{figure_json(page)}
                                                               : Result<std::string>{figure_page(page)});
    PERFLEET_TRY(sink.write_at(0, std::as_bytes(std::span{bytes})));
    return outcome;
}

}  // namespace

ExportFormat timeline_format() {
    return with_options(
        {.name = "timeline", .summary = "the threads of each CPU over time, a page for browsers, SVG or PNG"},
        schedule_options(), write_schedule);
}

}  // namespace perfleet
