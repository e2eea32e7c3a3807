// Types of `record` rows (ColumnId::kRecordType) that are of no record of perf.data, beyond all of perf's and
// simpleperf's. They must never change.
#pragma once

#include <cstdint>

namespace perfleet::record_types {

// Of all samples of the thread: exporters/profile/sample_labels.h.
inline constexpr std::uint32_t kSampleLabels = 1U << 16;

// Added to the type of a row that says again, at the beginning of an epoch, what holds on from before. Such rows, and
// those that they repeat, are of no event: they are read with every range of time behind them.
inline constexpr std::uint32_t kAgain = 1U << 20;

}  // namespace perfleet::record_types
