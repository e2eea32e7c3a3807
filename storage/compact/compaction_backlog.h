// What waits to be compacted, as far as it is known without reading batches: partitions without the mark of compacted
// ones, and sessions of which enough batches have gathered. Behind all of that, what waits until its day is over.
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
#include "storage/key/key_bytes.h"
#include "storage/limits/store_limits.h"
#include "storage/model/keys.h"

namespace perfleet {

class CompactionBacklog {
public:
    // A session's batches wait in an open bucket until this many have gathered.
    explicit CompactionBacklog(std::uint32_t batches = limits::kCompactedBatchesMax) : batches_{batches} {}

    struct Work {
        Partition partition;
        std::optional<SessionName> session;  // none: all of the partition, whose bucket is over
        std::uint64_t stored_count = 0;      // batches that had come when the work was taken
        bool is_day = false;                 // nothing but summaries of the day is left to do
    };

    // False until the partitions of the store have been told, and again after forget_everything().
    [[nodiscard]] bool is_loaded() const;
    // `compacted`: those that await_day().
    void load(const std::vector<Partition>& unmarked, const std::vector<Partition>& compacted);
    void forget_everything();

    // Whether the partition is known to have no mark.
    [[nodiscard]] bool knows(const Partition& partition) const;

    // A batch came; the partition has no mark from now on.
    void add_stored(const Partition& partition, const SessionName& session);
    void forget_partition(const Partition& partition);

    // The partition is compacted; it comes as work when its day is over and nothing else is due. Of one
    // that has more to compact: once.
    void await_day(const Partition& partition);
    void forget_day(const Partition& partition);

    [[nodiscard]] std::optional<Work> take(UtcNs now);
    // Of a partition's work when something is left that can't be compacted yet: it comes again later.
    void defer(const Work& work, UtcNs now);
    // Of work that was not done to its end: it is the next again.
    void take_up(const Work& work);
    // Whether nothing has come since the work was taken, so that the partition may get its mark.
    [[nodiscard]] bool is_unchanged(const Work& work) const;

    [[nodiscard]] std::size_t partition_count() const;

private:
    struct Waiting {
        std::uint64_t stored_count = 0;
        std::uint64_t examined_count = 0;  // the stored_count of the last examination
        std::optional<UtcNs> examined;
        bool has_awaited_day = false;
    };
    [[nodiscard]] static bool is_due(const Partition& partition, const Waiting& waiting, UtcNs now);
    [[nodiscard]] static bool is_day_due(const Partition& partition, std::optional<UtcNs> examined, UtcNs now);

    std::uint32_t batches_;
    mutable std::mutex mutex_;
    bool is_loaded_ = false;
    std::map<Partition, Waiting> partitions_;
    std::map<Partition, std::optional<UtcNs>> days_;  // and when they were examined
    std::map<std::pair<Partition, SessionName>, std::uint32_t> gathered_;
    std::deque<std::pair<Partition, SessionName>> ready_;
};

}  // namespace perfleet
