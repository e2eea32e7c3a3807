// Finds the event of a record: by its id if there are several.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "target-collector/intake/perf-data/recorded_session.h"
#include "target-collector/records/record_layout.h"

namespace perfleet {

class EventFinder {
public:
    // Borrows the recording, whose events must not change any more.
    explicit EventFinder(const RecordedSession& recording);

    // Empty: no event has this id.
    [[nodiscard]] std::optional<std::uint32_t> event_of(const RecordBytes& record) const;
    [[nodiscard]] std::optional<std::uint32_t> event_of_id(std::uint64_t id) const;
    [[nodiscard]] bool is_foreign() const { return recording_.events.front().is_foreign; }
    // 0: the record has no time.
    [[nodiscard]] std::uint64_t time_of(const RecordBytes& record) const;

private:
    const RecordedSession& recording_;
    std::unordered_map<std::uint64_t, std::uint32_t> by_id_;
};

}  // namespace perfleet
