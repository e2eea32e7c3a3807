#include "exporters/schedule/schedule_exporter.h"

#include <span>
#include <string>
#include <utility>

#include "exporters/report/report_parts.h"
#include "exporters/schedule/schedule.h"
#include "exporters/schedule/schedule_figure.h"
#include "exporters/schedule/schedule_page.h"
#include "exporters/timeline/timeline.h"
#include "query-engine/scan/query_memory.h"

namespace perfleet {
namespace {

// Of memory, about: of a timeline, and of what is made of it.
constexpr std::size_t kThreadSizeBytes = 768;
constexpr std::size_t kRowSizeBytes = 128;

OptionTable<ScheduleOptions> make_schedule_options() {
    OptionTable<ScheduleOptions> table;
    table.add({.name = "as",
               .type = OptionType::kChoice,
               .value_name = "FORMAT",
               .summary = "html, svg or png (default: as the name of the file ends)",
               .choices = {"html", "svg", "png"}},
              [](const OptionValue& value, ScheduleOptions& options) -> Result<Done> {
                  const std::string& name = std::get<std::string>(value);
                  options.format = name == "svg"   ? FigureFormat::kSvg
                                   : name == "png" ? FigureFormat::kPng
                                                   : FigureFormat::kHtml;
                  return Done{};
              });
    return table;
}

}  // namespace

const OptionTable<ScheduleOptions>& schedule_options() {
    static const OptionTable<ScheduleOptions> kTable = make_schedule_options();
    return kTable;
}

Result<ExportOutcome> export_schedule(const Scan& scan, const ScheduleOptions& options, ExportSink& sink) {
    const auto timeline = PERFLEET_TRY(Timeline::read_threads(scan));
    MemoryShare share{scan.memory()};
    share.set(timeline->threads().size() * kThreadSizeBytes + timeline->rows().size() * kRowSizeBytes);
    if (scan.memory().is_exceeded()) {
        return scan.memory().exceeded();
    }
    Schedule schedule = make_schedule(schedule_rows(*timeline));
    const std::size_t run_count = schedule.span_count();
    if (options.format == FigureFormat::kHtml) {
        merge_short_spans(schedule, kScheduleSpansMax);
    }
    ExportOutcome outcome = timeline->outcome();
    outcome.summary = counted_noun(run_count, "run") + " of " + counted_noun(schedule.threads.size(), "thread") +
                      " on " + counted_noun(schedule.lanes.size(), "CPU");
    outcome.warnings.insert(outcome.warnings.end(), schedule.warnings.begin(), schedule.warnings.end());
    std::string bytes;
    switch (options.format) {
        case FigureFormat::kHtml: bytes = schedule_page(schedule, outcome.ledger, outcome.warnings); break;
        case FigureFormat::kSvg: bytes = svg_of(schedule_figure(schedule)); break;
        case FigureFormat::kPng: bytes = PERFLEET_TRY(png_of(schedule_figure(schedule))); break;
    }
    PERFLEET_TRY(sink.write_at(0, std::as_bytes(std::span{bytes})));
    return outcome;
}

}  // namespace perfleet
