// Changes that operators made to running sessions: `controls`, and the state that `sessions` shows.
//
// One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

struct SessionChange {
    Ticks time;
    std::uint64_t command = 0;  // protocol::ControlCommand, or an unknown number from a newer collector
    EventNumber event;          // kNoEvent: all events of the session
    std::uint64_t value = 0;
};

// All stored changes, in the order in which they were made.
[[nodiscard]] Result<std::vector<SessionChange>> read_changes(const Scan& scan, std::size_t session_index);

// Whether these changes leave all events of the session stopped.
[[nodiscard]] bool are_all_stopped(const std::vector<SessionChange>& changes, std::size_t event_count);

// One row for each change, by session, then time.
[[nodiscard]] Result<Answer> make_controls(const Scan& scan);

}  // namespace perfleet
