// Compacts the store's small blocks, and makes the summaries of past days if the store has them, while the gateway
// serves. Runs on a thread of its own with lower priority, which pauses as long as it has worked.
//
// Threads: any thread calls any method. Borrows the store. The destructor stops it after the step that is running.
#pragma once

#include <cstdint>
#include <memory>

#include "schemas/host/counter.h"
#include "schemas/vocabulary/log_event.h"
#include "storage/store/maintenance.h"

namespace perfleet {

// Since the start, except values "now".
#define PERFLEET_COMPACTION_COUNTS(ROW)                                                                       \
    ROW(std::uint64_t, blocks_in, "compaction_blocks_in_total", "Blocks read by compaction.")                 \
    ROW(std::uint64_t, blocks_out, "compaction_blocks_out_total", "Blocks written by compaction.")            \
    ROW(std::uint64_t, batches, "compaction_batches_total", "Batches whose records were compacted.")          \
    ROW(std::uint64_t, size_bytes_in, "compaction_bytes_in_total", "Bytes read by compaction.")               \
    ROW(std::uint64_t, size_bytes_out, "compaction_bytes_out_total", "Bytes written by compaction.")          \
    ROW(std::uint64_t, summaries, "summaries_total", "Summaries of days written by compaction.")              \
    ROW(std::uint64_t, summary_rows, "summary_rows_total", "Rows that summaries stand for.")                  \
    ROW(std::uint64_t, summary_bytes, "summary_bytes_total", "Bytes of summaries.")                           \
    ROW(std::uint64_t, dictionaries, "dictionaries_total", "Dictionaries of partitions that were made.")      \
    ROW(std::uint64_t, stack_maps, "dictionary_maps_total", "Epochs of sessions that were mapped into them.") \
    ROW(std::uint64_t, map_bytes, "dictionary_bytes_total", "Bytes of dictionaries and maps.")                \
    ROW(std::uint64_t, epochs_left, "dictionary_epochs_left_total",                                           \
        "Epochs left out of dictionaries: no capacity, or few shared call chains.")                           \
    ROW(std::uint64_t, failures, "compaction_failures_total", "Compactions that failed and will be retried.") \
    ROW(std::uint64_t, partitions_waiting_now, "compaction_partitions_waiting",                               \
        "Partitions that wait for compaction, those of the current hour included.")
struct CompactionCounts {
    PERFLEET_COMPACTION_COUNTS(PERFLEET_COUNT_FIELD)
};

class StoreCompaction {
public:
    // Pause between two checks for work.
    static constexpr std::uint64_t kLookAgainNs = 1'000'000'000;

    // `log` is called on the thread, once for a series of failures.
    [[nodiscard]] static std::unique_ptr<StoreCompaction> start(StoreMaintenance& store, LogSink log,
                                                                std::uint64_t look_again_ns = kLookAgainNs);
    virtual ~StoreCompaction() = default;

    [[nodiscard]] virtual CompactionCounts counts() const = 0;
};

}  // namespace perfleet
