// Has the store compact its small blocks, and sum days that are over if it makes summaries, while the gateway serves: a
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
    std::uint64_t summaries = 0;
    std::uint64_t summary_rows = 0;
    std::uint64_t summary_bytes = 0;
    std::uint64_t dictionaries = 0;  // of partitions
    std::uint64_t stack_maps = 0;    // of epochs into them
    std::uint64_t map_bytes = 0;     // of both
    std::uint64_t epochs_left = 0;   // that have none: no room, or too little in common
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
