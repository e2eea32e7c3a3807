// Has the store compact its small blocks, and roll up what is over if it makes rollups, while the gateway serves: a
// thread that the gateway's process owns, less urgent than the others and idle for as long as it has worked.
//
// Threads: all methods by any. Borrows the store. Stops behind the step that it is at when it is destroyed.
#pragma once

#include <cstdint>
#include <memory>

#include "schemas/vocabulary/log_event.h"
#include "storage/store/maintenance.h"

namespace perfleet {

// Since the start, but for what waits "now".
struct CompactionCounts {
    std::uint64_t blocks_in = 0;
    std::uint64_t blocks_out = 0;
    std::uint64_t batches = 0;  // whose records were compacted
    std::uint64_t size_bytes_in = 0;
    std::uint64_t size_bytes_out = 0;
    std::uint64_t rollups = 0;
    std::uint64_t rollup_rows = 0;
    std::uint64_t rollup_bytes = 0;
    std::uint64_t rollup_rows_left = 0;  // too varied for a rollup to be worth it
    std::uint64_t dictionaries = 0;      // of partitions
    std::uint64_t stack_maps = 0;        // of epochs into them
    std::uint64_t map_bytes = 0;         // of both
    std::uint64_t epochs_left = 0;       // that have none: no room, or too little in common
    std::uint64_t failures = 0;
    std::uint64_t partitions_waiting_now = 0;
};

class StoreCompaction {
public:
    // Between two looks at what there is to do.
    static constexpr std::uint64_t kLookAgainNs = 1'000'000'000;

    // `log` is called on the thread, once for failures that follow each other.
    [[nodiscard]] static std::unique_ptr<StoreCompaction> start(StoreMaintenance& store, LogSink log,
                                                                std::uint64_t look_again_ns = kLookAgainNs);
    virtual ~StoreCompaction() = default;

    [[nodiscard]] virtual CompactionCounts counts() const = 0;
};

}  // namespace perfleet
