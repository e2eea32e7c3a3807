// Drops from the store what its retention rules don't keep, while the gateway serves: whole hours of a class, the
// oldest first, on a thread that the gateway's process owns, a little less urgent than the others.
//
// Where several gateways share the store each sees to its own shards. A limit in bytes is the store's: what each may
// keep of it follows from what all of them have, and while that isn't known nothing is dropped for it.
//
// Threads: all methods by any. Borrows the store. Stops at once when it is destroyed; what it had begun is finished by
// the next start.
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

// Of one class since the start, but for what is there "now".
#define PERFLEET_RETENTION_COUNTS(ROW)                                                                              \
    ROW(std::uint64_t, partitions_dropped, "retention_partitions_dropped_total",                                    \
        "Partitions that were dropped, too old or too much.")                                                       \
    ROW(std::uint64_t, rows_expired, "retention_rows_expired_total",                                                \
        "Rows that expired with them, without definitions.")                                                        \
    ROW(std::uint64_t, dropped_bytes, "retention_dropped_bytes_total", "What they took on disk, about.")            \
    ROW(std::uint64_t, kept_bytes_now, "retention_kept_bytes",                                                      \
        "What is kept of a class, about; 0 where nothing is ever dropped.")                                         \
    ROW(std::int64_t, oldest_bucket_s_now, "retention_oldest_seconds",                                              \
        "When the oldest hour that is kept of a class began, in Unix time; 0: nothing is kept, or nothing is ever " \
        "dropped.")
struct ClassRetentionCounts {
    std::string name;  // or its number, where no rule names it
    PERFLEET_RETENTION_COUNTS(PERFLEET_COUNT_FIELD)
};

struct RetentionCounts {
    std::vector<ClassRetentionCounts> classes{{"default"}};  // that one first, then as the rules name them
    std::uint64_t failures = 0;
    std::uint64_t store_bytes_now = 0;  // about: of all classes, and of all gateways that share the store
};

class StoreRetention {
public:
    // Between two looks at what there is to do.
    static constexpr std::uint64_t kLookAgainNs = 60'000'000'000;

    // What is stored is aged by this clock; any thread.
    using Clock = std::function<UtcNs()>;

    // `log` is called on the thread: for each hour that is dropped, once for failures that follow each other, and once
    // for a class that is stored and no rule names: it is kept.
    [[nodiscard]] static std::unique_ptr<StoreRetention> start(Store& store, const RetentionRules& rules, LogSink log,
                                                               Clock clock, std::uint64_t look_again_ns = kLookAgainNs);
    virtual ~StoreRetention() = default;

    [[nodiscard]] virtual RetentionCounts counts() const = 0;
};

}  // namespace perfleet
