// What compaction makes beside compacted blocks, and when.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/day_limits.h"
#include "schemas/vocabulary/dictionary_limits.h"
#include "storage/store_limits.h"

namespace perfleet {

// When a rollup is worth its bytes.
struct RollupPolicy {
    std::uint32_t rows_min = limits::kRollupRowsMin;           // of a series in an epoch that no rollup covers yet
    std::uint32_t rows_per_sum = limits::kRollupRowsPerSum;    // at least, on average
    std::uint32_t sums_max = limits::kRollupSumsMax;           // of one
    std::uint32_t day_hours_min = limits::kRollupDayHoursMin;  // of one of a day; more than 24: none are made
    std::uint32_t day_saving = limits::kRollupDaySaving;       // times its sums are those of its hours, at least
};

// When a dictionary of a partition is worth its bytes, and how much it may hold.
struct DictionaryPolicy {
    std::uint32_t epochs_min = limits::kDictionaryEpochsMin;  // that have a map
    std::uint32_t reuse = limits::kDictionaryReuse;           // their nodes for each of the dictionary, at least
    std::uint32_t nodes_max = limits::kDictionaryNodesMax;    // no more than this limit
};

}  // namespace perfleet
