// Types of `record` rows (ColumnId::kRecordType) that aren't records of perf.data; above all types of perf and
// simpleperf. They must never change.
#pragma once

#include <cstdint>

namespace perfleet::record_types {

// Labels of all samples of the thread: exporters/profile/sample_labels.h.
inline constexpr std::uint32_t kSampleLabels = 1U << 16;

// Added to the type of a row that repeats, at the beginning of an epoch, what still holds from before. Such rows, and
// those that they repeat, belong to no event: queries read them whenever their range of time is later.
inline constexpr std::uint32_t kAgain = 1U << 20;

}  // namespace perfleet::record_types
