// Types of `record` rows (ColumnId::kRecordType) that are of no record of perf.data, beyond all of perf's and
// simpleperf's. They must never change.
#pragma once

#include <cstdint>

namespace perfleet::record_types {

inline constexpr std::uint32_t kOwnFirst = 1U << 16;
inline constexpr std::uint32_t kSampleLabels =
    kOwnFirst;  // of all samples of the thread: exporters/profile/sample_labels.h

}  // namespace perfleet::record_types
