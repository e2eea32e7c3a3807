// How much of the time, or of its events, a target's sampling covered: where the target counts the time that it didn't
// (kUncoveredTimeEvent), which is in no row and in no ledger, and where samples of an event never came.
//
// Plain functions over a scan.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/session/event_choice.h"

namespace perfleet {

// Whether rows of this event are summed by their weights where the user doesn't say: a count of them says nothing where
// rows stand for time of any length, or where periods may have been skipped and weights have the time of those, too.
[[nodiscard]] bool weighs_by_default(const Scan& scan, const EventChoice& choice);

// Of the selected range of a session, by that series of it: nothing for every series but the counter of uncovered time,
// and where its readings don't tell.
[[nodiscard]] std::optional<double> uncovered_percent(const Scan& scan, std::size_t session_index, Series series);

// A line for each session whose sampling skipped time in the selected range, or of which many samples never came, with
// how much.
void warn_of_uncovered_time(const Scan& scan, std::vector<std::string>& warnings);

}  // namespace perfleet
