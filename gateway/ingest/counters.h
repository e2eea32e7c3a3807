// GatewayCounts as they are counted: by one thread, read by any.
#pragma once

#include <atomic>
#include <cstdint>

#include "gateway/gateway.h"

namespace perfleet {

struct Counters {
    std::atomic<std::uint64_t> batches_stored{0};
    std::atomic<std::uint64_t> batches_duplicate{0};
    std::atomic<std::uint64_t> batches_conflict{0};
    std::atomic<std::uint64_t> batches_expired{0};
    std::atomic<std::uint64_t> batches_refused{0};
    std::atomic<std::uint64_t> batches_ignored{0};
    std::atomic<std::uint64_t> sessions_refused{0};
    std::atomic<std::uint64_t> messages_malformed{0};
    std::atomic<std::uint64_t> images_stored{0};
    std::atomic<std::uint64_t> rows_stored{0};
    std::atomic<std::uint64_t> group_commits{0};

    [[nodiscard]] GatewayCounts read() const {
        GatewayCounts counts;
        counts.batches_stored = batches_stored;
        counts.batches_duplicate = batches_duplicate;
        counts.batches_conflict = batches_conflict;
        counts.batches_expired = batches_expired;
        counts.batches_refused = batches_refused;
        counts.batches_ignored = batches_ignored;
        counts.sessions_refused = sessions_refused;
        counts.messages_malformed = messages_malformed;
        counts.images_stored = images_stored;
        counts.rows_stored = rows_stored;
        counts.group_commits = group_commits;
        return counts;
    }
};

}  // namespace perfleet
