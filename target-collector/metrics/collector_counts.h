// What a collector counts about itself while it runs: published by the threads that own the counts, a few times a
// second, and read by any thread. Neither a row nor a batch pays for it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/duration_histogram.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/shared_value.h"
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
    std::array<SharedCount, kKindLast + 1> rows_produced{};  // by the number of the Kind
    std::array<SharedCount, 16> rows_lost{};  // by the number of the CountName, the last one takes all that are
                                              // higher; definitions not counted
    SharedCount rows_open;                    // that are in no batch yet, and in no other count
    SharedCount definitions_lost;
    SharedCount batches_sealed;
    SharedCount batches_acknowledged;
    SharedCount batches_resent;
    SharedCount batches_dropped;
    SharedCount batches_refused;
    SharedCount replies_ignored;
    SharedCount gateway_changes;
    SharedCount spool_used_bytes;
    SharedCount spool_size_bytes;
    SharedCount ring_used_bytes;
    SharedCount ring_size_bytes;
    SharedValue<bool> is_connected;          // the gateway answers
    SharedValue<bool> is_session_refused;    // and never will take this one
    SharedValue<double> frequency_scale{1};  // the part of the wanted frequency that is sampled (--cpu-budget)
    SharedCount budget_changes;              // of it
    DurationHistogram acknowledged_after;
    OrphanCounts orphans;
    SpoolSyncCounts spool_syncs;
};

class CollectorCounters {
public:
    static constexpr std::uint64_t kPublishEveryNs = 100'000'000;

    // The source's thread.
    void publish_rows(std::span<const CountEntry> counts, Seq last_sealed, std::uint64_t rows_open);

    void publish_frequency_scale(double scale);
    [[nodiscard]] double frequency_scale() const { return counts_.frequency_scale; }

    // The wire's thread.
    void publish_delivery(const Delivery::Status& status, bool is_silent);

    // Any thread. What other threads own is left at 0.
    [[nodiscard]] CollectorCounts read() const { return counts_; }

private:
    CollectorCounts counts_;
};

}  // namespace perfleet
