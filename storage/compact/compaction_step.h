// The result of one compaction step.
#pragma once

#include <cstdint>

#include "storage/model/keys.h"

namespace perfleet {

// What one step of compaction did in one partition; all zeros if it only read.
struct CompactionStep {
    Partition partition;
    std::uint64_t blocks_in = 0;       // compacted into one block; 0 if batch records were compacted
    std::uint64_t batches_in = 0;      // whose records were compacted into one value; 0 if blocks were compacted
    std::uint64_t size_bytes_in = 0;   // keys and values
    std::uint64_t size_bytes_out = 0;  // keys and values
    std::uint64_t summaries = 0;       // summaries of days that were written
    std::uint64_t summary_rows = 0;    // rows that they stand for
    std::uint64_t summary_bytes = 0;   // keys and values
    std::uint64_t dictionaries = 0;    // dictionaries of partitions that were written
    std::uint64_t stack_maps = 0;      // maps of epochs that were written
    std::uint64_t map_bytes = 0;       // of dictionaries and maps, keys and values
    std::uint64_t epochs_left = 0;     // epochs without a map: no space for their call chains, or too few shared ones
};

}  // namespace perfleet
