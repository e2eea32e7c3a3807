#include "query-engine/statistic/session/labels.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "query-engine/statistic/session/inventory.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {

Answer make_labels(const Scan& scan) {
    const std::vector<std::size_t> indices = sessions_by_start(scan);
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    for (const std::size_t i : indices) {
        const SessionRecord& record = scan.sessions()[i].record;
        auto labels = record.labels;
        labels.emplace_back("target", record.target_name);
        labels.emplace_back("arch", record.architecture);
        for (const auto& label : labels) {
            ++counts[label];
        }
    }
    Answer answer;
    answer.columns = {{"label", ""}, {"value", ""}, {"sessions", ""}};
    for (const auto& [label, count] : counts) {
        answer.rows.push_back({label.first, label.second, count});
    }
    answer.ledger = ledger_of_sessions(scan, indices, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

Answer make_events(const Scan& scan) {
    struct Event {
        std::size_t number = 0;
        std::string name;
        std::uint64_t session_count = 0;
    };
    const std::vector<std::size_t> indices = sessions_by_start(scan);
    std::map<std::string, Event> events;
    for (const std::size_t i : indices) {
        const ScannedSession& session = scan.sessions()[i];
        for (std::size_t number = 0; number < session.record.events.size(); ++number) {
            const std::string& name = session.record.events[number].name;
            if (!event_series(session, name).empty()) {
                Event& event = events.try_emplace(name, Event{number, name}).first->second;
                event.number = std::min(event.number, number);
                ++event.session_count;
            }
        }
    }
    std::vector<Event> ordered;
    for (auto& [name, event] : events) {
        ordered.push_back(std::move(event));
    }
    std::ranges::stable_sort(ordered, {}, [](const Event& event) { return event.number; });
    Answer answer;
    answer.columns = {{"event", ""}, {"unit", ""}, {"sessions", ""}};
    for (const Event& event : ordered) {
        const Measure measure = measure_of(scan, event.name);
        answer.rows.push_back({event.name, measure.unit, event.session_count});
    }
    answer.ledger = ledger_of_sessions(scan, indices, answer.warnings);
    drop_repeated(answer.warnings);
    return answer;
}

}  // namespace perfleet
