// Which data compaction makes beside compacted blocks, and when.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/dictionary_limits.h"
#include "storage/limits/store_limits.h"

namespace perfleet {

// When a summary of a day is worth its bytes.
struct SummaryPolicy {
    std::uint32_t hours_min = limits::kSummaryHoursMin;
    std::uint32_t saving = limits::kSummarySaving;     // its hours together have at least this many times its sums
    std::uint32_t sums_max = limits::kSummarySumsMax;  // of one summary
};

// When a dictionary of a partition is worth its bytes, and how much it may hold.
struct DictionaryPolicy {
    std::uint32_t epochs_min = limits::kDictionaryEpochsMin;  // with a map, at least
    std::uint32_t reuse = limits::kDictionaryReuse;  // least ratio of the epochs' nodes to the dictionary's nodes
    std::uint32_t nodes_max = limits::kDictionaryNodesMax;  // no more than this limit
};

}  // namespace perfleet
