// The queue of work for compaction, as far as it is known without reading batches: sessions of which enough batches
// have gathered, then partitions without the mark of compacted ones, then partitions whose day isn't summed yet.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "schemas/vocabulary/time.h"
#include "storage/limits/store_limits.h"
#include "storage/model/keys.h"

namespace perfleet {

class CompactionBacklog {
public:
    // `batches`: how many batches of a session gather in an open bucket before they are compacted.
    explicit CompactionBacklog(std::uint32_t batches = limits::kCompactedBatchesMax) : batches_{batches} {}

    struct Work {
        Partition partition;
        std::optional<SessionName> session;  // empty: the whole partition, whose bucket is over
        std::uint64_t stored_count = 0;      // batches stored when the work was taken
        bool is_day = false;                 // only summaries of the day are left to do
    };

    // False until load(), and again after forget_everything().
    [[nodiscard]] bool is_loaded() const;
    // `compacted`: partitions for which await_day() holds.
    void load(const std::vector<Partition>& unmarked, const std::vector<Partition>& compacted);
    void forget_everything();

    // Whether the partition is known to lack the mark.
    [[nodiscard]] bool knows(const Partition& partition) const;

    // A batch was stored: the partition lacks the mark from now on.
    void add_stored(const Partition& partition, const SessionName& session);
    void forget_partition(const Partition& partition);

    // The partition is compacted: it is returned as work when its day is over and nothing else is due; only once if it
    // still has batches to compact.
    void await_day(const Partition& partition);
    void forget_day(const Partition& partition);

    [[nodiscard]] std::optional<Work> take(UtcNs now);
    // Puts back work of which a part can't be compacted yet: it is due again later.
    void defer(const Work& work, UtcNs now);
    // Puts back unfinished work, as the next work.
    void take_up(const Work& work);
    // Whether no batch was stored since the work was taken, so that the partition may be marked.
    [[nodiscard]] bool is_unchanged(const Work& work) const;

    [[nodiscard]] std::size_t partition_count() const;

private:
    struct Waiting {
        std::uint64_t stored_count = 0;
        std::uint64_t examined_count = 0;  // stored_count at the last examination
        std::optional<UtcNs> examined;
        bool has_awaited_day = false;
    };
    [[nodiscard]] static bool is_due(const Partition& partition, const Waiting& waiting, UtcNs now);
    [[nodiscard]] static bool is_day_due(const Partition& partition, std::optional<UtcNs> examined, UtcNs now);

    std::uint32_t batches_;
    mutable std::mutex mutex_;
    bool is_loaded_ = false;
    std::map<Partition, Waiting> partitions_;
    std::map<Partition, std::optional<UtcNs>> days_;  // with the time of the last examination
    std::map<std::pair<Partition, SessionName>, std::uint32_t> gathered_;
    std::deque<std::pair<Partition, SessionName>> ready_;
};

}  // namespace perfleet
