// What compaction makes beside compacted blocks, and when.
#pragma once

#include <cstdint>

#include "schemas/vocabulary/dictionary_limits.h"
#include "storage/limits/store_limits.h"

namespace perfleet {

// When a summary of a day is worth its bytes.
struct SummaryPolicy {
    std::uint32_t hours_min = limits::kSummaryHoursMin;
    std::uint32_t saving = limits::kSummarySaving;     // times its sums are those of its hours, at least
    std::uint32_t sums_max = limits::kSummarySumsMax;  // of one
};

// When a dictionary of a partition is worth its bytes, and how much it may hold.
struct DictionaryPolicy {
    std::uint32_t epochs_min = limits::kDictionaryEpochsMin;  // that have a map
    std::uint32_t reuse = limits::kDictionaryReuse;           // their nodes for each of the dictionary, at least
    std::uint32_t nodes_max = limits::kDictionaryNodesMax;    // no more than this limit
};

}  // namespace perfleet
