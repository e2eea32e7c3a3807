#include "exporters/schedule/schedule_page.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "query-engine/select/selection.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

using Json = nlohmann::ordered_json;

template <class Items, class ValueOf>
Json array_of(const Items& items, const ValueOf& value_of) {
    Json array = Json::array();
    for (const auto& item : items) {
        array.push_back(value_of(item));
    }
    return array;
}

Json lane_json(const ScheduleLane& lane) {
    std::uint64_t last_ns = 0;
    return Json{
        {"name", printable(lane.name)},
        {"busy_ns", lane.busy_ns},
        {"begin",
         array_of(lane.spans, [&](const auto& span) { return span.begin_ns - std::exchange(last_ns, span.begin_ns); })},
        {"length", array_of(lane.spans, [](const auto& span) { return span.length_ns; })},
        {"thread", array_of(lane.spans,
                            [](const auto& span) {
                                return span.thread == ScheduleSpan::kSeveral ? std::int64_t{-1}
                                                                             : std::int64_t{span.thread};
                            })},
        {"preempted", array_of(lane.spans, [](const auto& span) { return span.is_preempted ? 1 : 0; })},
        {"runs", array_of(lane.spans, [](const auto& span) { return span.merged_runs; })}};
}

}  // namespace

FigurePage schedule_page(const Schedule& schedule, const Ledger& ledger, const std::vector<std::string>& warnings,
                         const std::string& origin) {
    FigurePage page;
    page.kind = "schedule";
    page.title = "Scheduling";
    page.subtitle = (schedule.targets.size() == 1 ? schedule.targets.front()
                                                  : std::to_string(schedule.targets.size()) + " targets") +
                    ", " + counted_noun(schedule.lanes.size(), "CPU") + ", " +
                    counted_noun(schedule.threads.size(), "thread") + ", " +
                    (schedule.is_sampled ? "from samples" : "from switches") + origin;
    page.ledgers.emplace_back("rows", ledger);
    page.warnings = warnings;
    const auto& threads = schedule.threads;
    page.content =
        "\"schedule\":" +
        Json{{"start", schedule.span_count() == 0 ? std::string{} : format_time(schedule.start)},
             {"duration_ns", schedule.duration_ns},
             {"sampled", schedule.is_sampled},
             {"threads",
              {{"name", array_of(threads, [&](const auto& one) { return printable(schedule.thread_name(one)); })},
               {"running_ns", array_of(threads, [](const auto& one) { return one.running_ns; })},
               {"runs", array_of(threads, [](const auto& one) { return one.run_count; })},
               {"longest_ns", array_of(threads, [](const auto& one) { return one.longest_ns; })},
               {"preempted", array_of(threads, [](const auto& one) { return one.preempted_count; })}}},
             {"lanes", array_of(schedule.lanes, lane_json)}}
            .dump();
    return page;
}

}  // namespace perfleet
