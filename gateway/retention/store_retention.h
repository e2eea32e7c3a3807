// Drops from the store what its retention rules don't keep, while the gateway serves: whole hours of a class, the
// oldest first, on a thread of its own with slightly lower priority.
//
// Each gateway of a shared store drops from its own shards. A size limit applies to the whole store: each gateway's
// part follows from the sizes of all, and while these are unknown, nothing is dropped for size.
//
// Threads: any thread calls any method. Borrows the store. The destructor stops it at once; the next start finishes a
// drop that had begun.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gateway/retention/retention_rules.h"
#include "schemas/host/counter.h"
#include "schemas/vocabulary/log_event.h"
#include "storage/store/store.h"

namespace perfleet {

// Of one class since the start, except values "now".
#define PERFLEET_RETENTION_COUNTS(ROW)                                                                              \
    ROW(std::uint64_t, partitions_dropped, "retention_partitions_dropped_total",                                    \
        "Partitions dropped because of age or size.")                                                               \
    ROW(std::uint64_t, rows_expired, "retention_rows_expired_total",                                                \
        "Rows that expired with them, without definitions.")                                                        \
    ROW(std::uint64_t, dropped_bytes, "retention_dropped_bytes_total", "Their approximate size on disk.")           \
    ROW(std::uint64_t, kept_bytes_now, "retention_kept_bytes",                                                      \
        "Approximate size of a class; 0 if nothing is ever dropped.")                                               \
    ROW(std::int64_t, oldest_bucket_s_now, "retention_oldest_seconds",                                              \
        "When the oldest hour that is kept of a class began, in Unix time; 0: nothing is kept, or nothing is ever " \
        "dropped.")
struct ClassRetentionCounts {
    std::string name;  // or its number, if no rule names it
    PERFLEET_RETENTION_COUNTS(PERFLEET_COUNT_FIELD)
};

struct RetentionCounts {
    std::vector<ClassRetentionCounts> classes{
        {"default"}};  // the default class first, then those of the rules in order
    std::uint64_t failures = 0;
    std::uint64_t store_bytes_now = 0;  // approximate: of all classes, and of all gateways that share the store
};

class StoreRetention {
public:
    // Pause between two checks.
    static constexpr std::uint64_t kLookAgainNs = 60'000'000'000;

    // The time by which stored rows are aged; any thread.
    using Clock = std::function<UtcNs()>;

    // `log` is called on the thread: for each dropped hour, once for a series of failures, and once for a stored class
    // that no rule names: it is kept.
    [[nodiscard]] static std::unique_ptr<StoreRetention> start(Store& store, const RetentionRules& rules, LogSink log,
                                                               Clock clock, std::uint64_t look_again_ns = kLookAgainNs);
    virtual ~StoreRetention() = default;

    [[nodiscard]] virtual RetentionCounts counts() const = 0;
};

}  // namespace perfleet
