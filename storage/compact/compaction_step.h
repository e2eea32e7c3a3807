// What a step of compaction did.
#pragma once

#include <cstdint>

#include "storage/model/keys.h"

namespace perfleet {

// What one step of compaction did, in one partition; all zeros when it only read.
struct CompactionStep {
    Partition partition;
    std::uint64_t blocks_in = 0;       // that went into one compacted block; 0 when batch records were compacted
    std::uint64_t batches_in = 0;      // whose records went into one value; 0 when blocks were compacted
    std::uint64_t size_bytes_in = 0;   // keys and values
    std::uint64_t size_bytes_out = 0;  // likewise
    std::uint64_t summaries = 0;       // of days that were written
    std::uint64_t summary_rows = 0;    // that they stand for
    std::uint64_t summary_bytes = 0;   // keys and values
    std::uint64_t dictionaries = 0;    // of partitions that were written
    std::uint64_t stack_maps = 0;      // of epochs, likewise
    std::uint64_t map_bytes = 0;       // of both, keys and values
    std::uint64_t epochs_left = 0;     // without a map: there was no room for their call chains, or they share too few
};

}  // namespace perfleet
