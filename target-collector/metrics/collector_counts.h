// A collector's counters of itself while it runs: published by the threads that own the counts, a few times a second,
// and read by any thread. They cost nothing for each row or batch.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "schemas/host/counter.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {

// Sessions of earlier runs in the spool folder.
#define PERFLEET_ORPHAN_COUNTS(ROW)                                                                             \
    ROW(std::uint64_t, sessions_waiting, "recovered_sessions",                                                  \
        "Sessions of earlier runs recovered from the spool folder, not delivered yet.")                         \
    ROW(std::uint64_t, batches_waiting, "recovered_batches", "Undelivered batches of recovered sessions.")      \
    ROW(std::uint64_t, bytes_waiting, "recovered_bytes", "Bytes of undelivered batches of recovered sessions.") \
    ROW(std::uint64_t, sessions_delivered, "recovered_sessions_delivered_total",                                \
        "Recovered sessions delivered completely.")                                                             \
    ROW(std::uint64_t, batches_delivered, "recovered_batches_delivered_total",                                  \
        "Batches of recovered sessions delivered.")

#define PERFLEET_SPOOL_SYNC_COUNTS(ROW)                                           \
    ROW(std::uint64_t, done, "spool_syncs_total", "Spool syncs by --spool-sync.") \
    ROW(std::uint64_t, failed, "spool_syncs_failed_total", "Spool syncs that failed.")

#define PERFLEET_COLLECTOR_COUNTS(ROW)                                                                               \
    ROW(CountsOfLosses<SharedCount>, rows_lost, "rows_lost_total", "Rows lost, excluding definitions.")              \
    ROW(SharedCount, definitions_lost, "definitions_lost_total", "Definitions lost; each loss closed an epoch.")     \
    ROW(SharedValue<bool>, is_connected, "connected", "1 while a gateway answers.")                                  \
    ROW(SharedValue<bool>, is_session_refused, "session_refused", "1 if the gateway refused this session for good.") \
    ROW(SharedCount, gateway_changes, "gateway_changes_total", "Gateway incarnations seen after the first.")         \
    ROW(SharedCount, batches_sealed, "batches_sealed_total", "Batches closed and numbered.")                         \
    ROW(SharedCount, batches_acknowledged, "batches_acknowledged_total", "Batches that the gateway has on disk.")    \
    ROW(SharedCount, batches_resent, "batches_resent_total", "Batches sent again.")                                  \
    ROW(SharedCount, batches_dropped, "batches_dropped_total", "Batches dropped from the spool at its bound.")       \
    ROW(SharedCount, batches_refused, "batches_refused_total", "Batches that the gateway can never store.")          \
    ROW(SharedCount, replies_ignored, "replies_ignored_total", "Malformed or impossible messages from the gateway.") \
    ROW(DurationHistogram, acknowledged_after, "acknowledgement_seconds",                                            \
        "From a batch's (last) sending to its acknowledgement.")                                                     \
    ROW(SharedCount, spool_size_bytes, "spool_limit_bytes", "Capacity of the spool.")                                \
    ROW(SharedCount, spool_used_bytes, "spool_used_bytes", "Bytes used of that capacity.")                           \
    ROW(SharedCount, ring_size_bytes, "ring_limit_bytes", "Capacity of the ring between source and network thread.") \
    ROW(SharedCount, ring_used_bytes, "ring_used_bytes", "Bytes used of that capacity.")                             \
    ROW(SharedCount, budget_changes, "budget_changes_total", "Changes of the sampling frequency by --cpu-budget.")   \
    ROW(SharedCount, rows_open, "", "") /* that are in no batch yet, and in no other count */

struct OrphanCounts {
    PERFLEET_ORPHAN_COUNTS(PERFLEET_COUNT_FIELD)
};

struct SpoolSyncCounts {
    PERFLEET_SPOOL_SYNC_COUNTS(PERFLEET_COUNT_FIELD)
};

struct CollectorCounts {
    PERFLEET_COLLECTOR_COUNTS(PERFLEET_COUNT_FIELD)
    std::array<SharedCount, kKindLast + 1> rows_produced{};  // by the number of the Kind
    SharedValue<double> frequency_scale{1};  // the part of the wanted frequency that is sampled (--cpu-budget)
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

    // Any thread. Counts of other threads are left at 0.
    [[nodiscard]] CollectorCounts read() const { return counts_; }

private:
    CollectorCounts counts_;
};

}  // namespace perfleet
