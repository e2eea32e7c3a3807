// What a collector counts about itself while it runs: published by the threads that own the counts, a few times a
// second, and read by any thread. Neither a row nor a batch pays for it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/duration_histogram.h"
#include "schemas/vocabulary/series.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {

// What earlier runs left in the spool folder.
struct OrphanCounts {
    std::uint64_t sessions_waiting = 0;  // not delivered to their end
    std::uint64_t batches_waiting = 0;
    std::uint64_t bytes_waiting = 0;
    std::uint64_t sessions_delivered = 0;  // by this run
    std::uint64_t batches_delivered = 0;
};

// Of --spool-sync.
struct SpoolSyncCounts {
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
};

struct CollectorCounts {
    std::array<std::uint64_t, kKindLast + 1> rows_produced{};  // by the number of the Kind
    std::array<std::uint64_t, 16> rows_lost{};  // by the number of the CountName, the last one takes all that are
                                                // higher; definitions not counted
    std::uint64_t rows_open = 0;                // that are in no batch yet, and in no other count
    std::uint64_t definitions_lost = 0;
    std::uint64_t batches_sealed = 0;
    std::uint64_t batches_acknowledged = 0;
    std::uint64_t batches_resent = 0;
    std::uint64_t batches_dropped = 0;
    std::uint64_t batches_refused = 0;
    std::uint64_t replies_ignored = 0;
    std::uint64_t gateway_changes = 0;
    std::uint64_t spool_used_bytes = 0;
    std::uint64_t spool_size_bytes = 0;
    std::uint64_t ring_used_bytes = 0;
    std::uint64_t ring_size_bytes = 0;
    bool is_connected = false;         // the gateway answers
    bool is_session_refused = false;   // and never will take this one
    double frequency_scale = 1;        // the part of the wanted frequency that is sampled (--cpu-budget)
    std::uint64_t budget_changes = 0;  // of it
    DurationHistogram::Counts acknowledged_after;
    OrphanCounts orphans;
    SpoolSyncCounts spool_syncs;
};

class CollectorCounters {
public:
    static constexpr std::uint64_t kPublishEveryNs = 100'000'000;

    // The source's thread.
    void publish_rows(std::span<const CountEntry> counts, Seq last_sealed, std::uint64_t rows_open);

    void publish_frequency_scale(double scale);
    [[nodiscard]] double frequency_scale() const { return frequency_scale_.load(std::memory_order_relaxed); }

    // The wire's thread.
    void publish_delivery(const Delivery::Status& status, bool is_silent);

    // Any thread. What other threads own is left at 0.
    [[nodiscard]] CollectorCounts read() const;

private:
    template <std::size_t kCount>
    using Counts = std::array<std::atomic<std::uint64_t>, kCount>;

    Counts<kKindLast + 1> rows_produced_{};
    Counts<16> rows_lost_{};
    std::atomic<std::uint64_t> rows_open_{0};
    std::atomic<std::uint64_t> definitions_lost_{0};
    std::atomic<std::uint64_t> batches_sealed_{0};
    std::atomic<std::uint64_t> batches_acknowledged_{0};
    std::atomic<std::uint64_t> batches_resent_{0};
    std::atomic<std::uint64_t> batches_dropped_{0};
    std::atomic<std::uint64_t> batches_refused_{0};
    std::atomic<std::uint64_t> replies_ignored_{0};
    std::atomic<std::uint64_t> gateway_changes_{0};
    std::atomic<std::uint64_t> spool_used_bytes_{0};
    std::atomic<double> frequency_scale_{1};
    std::atomic<std::uint64_t> budget_changes_{0};
    std::atomic<bool> is_connected_{false};
    std::atomic<bool> is_session_refused_{false};
};

}  // namespace perfleet
