// Coverage of a session by its sampling. A target may count the time in which it didn't sample (kUncoveredTimeEvent),
// which no row and no ledger holds; and samples of an event may be missing.
//
// Plain functions over a scan.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {

// A warning of warn_of_uncovered_time() that the session's collector has printed at its end, too.
[[nodiscard]] bool is_from_collector(std::string_view warning);

// Percentage of the session's selected range that the counter `series` reports as uncovered. Nothing if `series` is no
// such counter or its readings don't suffice.
[[nodiscard]] std::optional<double> uncovered_percent(const Scan& scan, std::size_t session_index, Series series);

// Warns for each session whose sampling skipped time in the selected range, or that misses many samples, with the
// amount.
void warn_of_uncovered_time(const Scan& scan, std::vector<std::string>& warnings);

}  // namespace perfleet
