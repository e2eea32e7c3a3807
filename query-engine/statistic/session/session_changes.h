// What operators changed of sessions while these ran: `controls`, and the state that `sessions` shows.
//
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet {

struct SessionChange {
    Ticks time;
    std::uint64_t command = 0;  // protocol::ControlCommand, or one of a newer collector
    EventNumber event;          // kNoEvent: all of the session's
    std::uint64_t value = 0;
};

// All that are stored, in the order in which they were done.
[[nodiscard]] Result<std::vector<SessionChange>> read_changes(const Scan& scan, std::size_t session_index);

// Whether these leave every one of the session's events stopped.
[[nodiscard]] bool are_all_stopped(const std::vector<SessionChange>& changes, std::size_t event_count);

// A row a change, in the order of the sessions and within them of time.
[[nodiscard]] Result<Answer> make_controls(const Scan& scan);

}  // namespace perfleet
