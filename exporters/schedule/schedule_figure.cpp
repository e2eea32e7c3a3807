#include "exporters/schedule/schedule_figure.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "exporters/figure/figure_text.h"
#include "exporters/figure/sheet.h"
#include "exporters/report/report_parts.h"
#include "query-engine/select/selection.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr Tenths kSheetWidth = 10'000;
constexpr Tenths kSheetLeft = 300;
constexpr Tenths kLanesLeft = 1'500;
constexpr Tenths kLanesRight = 9'700;
constexpr Tenths kLanesTop = 760;
constexpr Tenths kLaneHeight = 240;
constexpr Tenths kLaneGap = 60;
constexpr std::size_t kLanesMax = 64;
constexpr Tenths kSpanWidthMin = 5;
constexpr Tenths kLegendColumnWidth = 2'050;
constexpr std::size_t kLegendColumns = 4;
constexpr std::size_t kLegendTextMax = 28;
constexpr std::size_t kLaneNameMax = 20;
constexpr Colour kLanePaper{243, 244, 246};
constexpr Colour kOthers{165, 172, 180};

// For the threads that ran longest; readers with any colour vision can distinguish them.
constexpr std::array<Colour, 8> kPalette{{{0, 114, 178},
                                          {230, 159, 0},
                                          {0, 158, 115},
                                          {204, 121, 167},
                                          {213, 94, 0},
                                          {86, 180, 233},
                                          {140, 86, 75},
                                          {190, 175, 20}}};

}  // namespace

Figure schedule_figure(const Schedule& schedule) {
    Figure figure;
    const std::size_t lane_count = std::min(schedule.lanes.size(), kLanesMax);
    const Tenths lanes_bottom = kLanesTop + static_cast<Tenths>(lane_count) * (kLaneHeight + kLaneGap);
    std::vector<std::uint32_t> ranked(schedule.threads.size());
    std::iota(ranked.begin(), ranked.end(), 0U);
    std::stable_sort(ranked.begin(), ranked.end(), [&](std::uint32_t a, std::uint32_t b) {
        return schedule.threads[a].running_ns > schedule.threads[b].running_ns;
    });
    const std::size_t named = std::min(ranked.size(), kPalette.size());
    std::vector<Colour> colours(schedule.threads.size(), kOthers);
    for (std::size_t i = 0; i < named; ++i) {
        colours[ranked[i]] = kPalette[i];
    }
    const std::size_t legend_entries = named + (ranked.size() > named ? 1 : 0);
    const auto legend_lines = static_cast<Tenths>((legend_entries + kLegendColumns - 1) / kLegendColumns);
    figure.width = kSheetWidth;
    figure.height = lanes_bottom + 560 + legend_lines * 180 + 100;
    if (schedule.span_count() == 0) {
        write_title(figure, kSheetLeft, "Scheduling");
        figure.write(kSheetWidth / 2, lanes_bottom, "no runs", 160, kGrey, Anchor::kMiddle);
        return figure;
    }
    write_title(figure, kSheetLeft,
                "Scheduling of " + shortened_title(schedule.targets.size() == 1
                                                       ? schedule.targets.front()
                                                       : std::to_string(schedule.targets.size()) + " targets",
                                                   kTitleSizeMax));
    const std::uint64_t duration_ns = std::max<std::uint64_t>(schedule.duration_ns, 1);
    std::string line = counted_noun(schedule.lanes.size(), "CPU") + " · " +
                       counted_noun(schedule.threads.size(), "thread") + " · " +
                       (schedule.is_sampled ? "from samples" : "from switches");
    if (lane_count < schedule.lanes.size()) {
        line += " · the first " + std::to_string(lane_count) + " CPUs are shown";
    }
    write_line(figure, kSheetLeft, line);
    const auto x_of = [&](std::uint64_t ns) { return kLanesLeft + scaled(ns, duration_ns, kLanesRight - kLanesLeft); };
    for (std::size_t i = 0; i < lane_count; ++i) {
        const ScheduleLane& lane = schedule.lanes[i];
        const Tenths top = kLanesTop + static_cast<Tenths>(i) * (kLaneHeight + kLaneGap);
        figure.boxes.push_back({kLanesLeft, top, kLanesRight - kLanesLeft, kLaneHeight, kLanePaper});
        figure.write(kLanesLeft - 80, top + 120, shortened_title(lane.name, kLaneNameMax), 115, kInk, Anchor::kEnd);
        figure.write(kLanesLeft - 80, top + 220, share_text(lane.busy_ns, duration_ns) + " busy", 90, kGrey,
                     Anchor::kEnd);
        Tenths taken = kLanesLeft;  // a place shows the first run that begins in it
        for (const ScheduleSpan& span : lane.spans) {
            const Tenths left = std::max(x_of(span.begin_ns), taken);
            const Tenths right = std::max(x_of(span.begin_ns + span.length_ns), x_of(span.begin_ns) + kSpanWidthMin);
            if (right <= left) {
                continue;
            }
            figure.boxes.push_back({left, top, right - left, kLaneHeight,
                                    span.thread == ScheduleSpan::kSeveral ? kOthers : colours[span.thread]});
            taken = right;
        }
    }
    const std::uint64_t step = step_for(duration_ns);
    figure.strokes.push_back({kLanesLeft, lanes_bottom, kLanesRight, lanes_bottom, kInk, false});
    for (std::uint64_t ns = 0; ns <= duration_ns; ns += step) {
        figure.strokes.push_back({x_of(ns), lanes_bottom, x_of(ns), lanes_bottom + 50, kInk, false});
        figure.write(x_of(ns), lanes_bottom + 190, duration_text(ns, duration_ns), 115, kInk, Anchor::kMiddle);
    }
    figure.write((kLanesLeft + kLanesRight) / 2, lanes_bottom + 380, "time from " + format_time(schedule.start), 115,
                 kInk, Anchor::kMiddle);
    for (std::size_t i = 0; i < legend_entries; ++i) {
        const Tenths x = kSheetLeft + static_cast<Tenths>(i % kLegendColumns) * (kLegendColumnWidth + 300);
        const Tenths y = lanes_bottom + 540 + static_cast<Tenths>(i / kLegendColumns) * 180;
        figure.boxes.push_back({x, y, 110, 110, i < named ? kPalette[i] : kOthers});
        figure.write(x + 160, y + 100,
                     i < named ? shortened_title(schedule.thread_name(schedule.threads[ranked[i]]), kLegendTextMax)
                               : std::to_string(ranked.size() - named) + " other threads",
                     105, kInk, Anchor::kStart);
    }
    return figure;
}

}  // namespace perfleet
