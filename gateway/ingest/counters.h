// GatewayCounts as they are counted: by one thread, read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <tuple>

#include "gateway/gateway_counts.h"

namespace perfleet {

template <class Reason>
class ReasonCounters {
public:
    void add(Reason reason) { counts_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed); }

    [[nodiscard]] CountsByReason<Reason> read() const {
        CountsByReason<Reason> into;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            into.counts[i] = counts_[i].load(std::memory_order_relaxed);
        }
        return into;
    }

private:
    std::array<std::atomic<std::uint64_t>, kReasonCount<Reason>> counts_{};
};

struct Counters {
    std::atomic<std::uint64_t> messages{0};
    std::atomic<std::uint64_t> messages_bytes{0};
    std::atomic<std::uint64_t> batches_stored{0};
    std::atomic<std::uint64_t> batches_duplicate{0};
    std::atomic<std::uint64_t> batches_expired{0};
    std::atomic<std::uint64_t> rows_stored{0};
    std::atomic<std::uint64_t> images_stored{0};
    std::atomic<std::uint64_t> group_commits{0};
    std::atomic<std::uint64_t> commits_failed{0};
    std::array<std::atomic<std::uint64_t>, std::tuple_size_v<LossCounts>> rows_lost{};
    DurationHistogram acknowledged_after;
    DurationHistogram commits_took;
    std::atomic<bool> is_store_stuck{false};
    ReasonCounters<SessionRefusal> sessions_refused;
    ReasonCounters<BatchRefusal> batches_refused;
    ReasonCounters<BatchIgnored> batches_ignored;
    ReasonCounters<MessageMalformed> messages_malformed;
    ReasonCounters<PeerCut> peers_cut;
    ReasonCounters<ImageRefusal> images_refused;
    ReasonCounters<RequestOutcome> requests;
    std::atomic<std::uint64_t> peers_now{0};
    std::atomic<std::uint64_t> sessions_now{0};
    std::atomic<std::uint64_t> shards_now{0};
    std::atomic<std::uint64_t> peers_sent_elsewhere{0};
    std::atomic<std::uint64_t> memory_bytes_max{0};
    std::atomic<std::uint64_t> memory_bytes_now{0};
    std::atomic<std::uint64_t> credit_bytes_max{0};
    std::atomic<std::uint64_t> credit_bytes_now{0};

    [[nodiscard]] GatewayCounts read() const {
        GatewayCounts counts;
        counts.messages = messages;
        counts.messages_bytes = messages_bytes;
        counts.batches_stored = batches_stored;
        counts.batches_duplicate = batches_duplicate;
        counts.batches_expired = batches_expired;
        counts.rows_stored = rows_stored;
        counts.images_stored = images_stored;
        counts.group_commits = group_commits;
        counts.commits_failed = commits_failed;
        for (std::size_t i = 0; i < rows_lost.size(); ++i) {
            counts.rows_lost[i] = rows_lost[i].load(std::memory_order_relaxed);
        }
        counts.acknowledged_after = acknowledged_after.read();
        counts.commits_took = commits_took.read();
        counts.is_store_stuck = is_store_stuck;
        counts.sessions_refused = sessions_refused.read();
        counts.batches_refused = batches_refused.read();
        counts.batches_ignored = batches_ignored.read();
        counts.messages_malformed = messages_malformed.read();
        counts.peers_cut = peers_cut.read();
        counts.images_refused = images_refused.read();
        counts.requests = requests.read();
        counts.peers_now = peers_now;
        counts.sessions_now = sessions_now;
        counts.shards_now = shards_now;
        counts.peers_sent_elsewhere = peers_sent_elsewhere;
        counts.memory_bytes_max = memory_bytes_max;
        counts.memory_bytes_now = memory_bytes_now;
        counts.credit_bytes_max = credit_bytes_max;
        counts.credit_bytes_now = credit_bytes_now;
        return counts;
    }
};

}  // namespace perfleet
