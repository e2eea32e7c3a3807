#include "target-collector/intake/perf-data/event_finder.h"

#include "schemas/perf/perf_event.h"
#include "target-collector/records/byte_cursor.h"
#include "target-collector/records/record_reader.h"

namespace perfleet {

EventFinder::EventFinder(const RecordedSession& recording) : recording_{recording} {
    for (std::uint32_t i = 0; i < recording.events.size(); ++i) {
        for (const std::uint64_t id : recording.events[i].ids) {
            by_id_.emplace(id, i);
        }
    }
}

std::optional<std::uint32_t> EventFinder::event_of_id(std::uint64_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? std::nullopt : std::optional{found->second};
}

std::optional<std::uint32_t> EventFinder::event_of(const RecordBytes& record) const {
    if (recording_.events.size() == 1) {
        return 0;
    }
    const auto id = record_id(record, recording_.events.front());
    if (!id || *id == 0) {  // side-band records that perf synthesizes have no event
        return 0;
    }
    return event_of_id(*id);
}

std::uint64_t EventFinder::time_of(const RecordBytes& record) const {
    // All events of a file have their ids in the same place, but not always the same fields.
    const RecordedEvent& event = recording_.events[event_of(record).value_or(0)];
    if (const auto time = record_time(record, event)) {
        return *time == ~0ULL ? 0 : *time;
    }
    if ((record.is(perf::RecordType::kFork) || record.is(perf::RecordType::kExit)) && record.bytes.size() >= 32) {
        ByteCursor cursor{record.bytes.subspan(24), event.is_foreign};
        return cursor.u64();
    }
    return 0;
}

}  // namespace perfleet
