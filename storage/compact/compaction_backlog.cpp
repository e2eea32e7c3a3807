#include "storage/compact/compaction_backlog.h"

#include "schemas/wire/delivery_limits.h"
#include "storage/summary/day_summary.h"

namespace perfleet {
namespace {

// Seconds until a partition with batches above their watermark is tried again.
constexpr std::int64_t kAgainS = 3'600;

std::int64_t seconds(UtcNs utc) { return utc.value / kNsPerSecond; }

}  // namespace

bool CompactionBacklog::is_loaded() const {
    const std::lock_guard lock{mutex_};
    return is_loaded_;
}

void CompactionBacklog::load(const std::vector<Partition>& unmarked, const std::vector<Partition>& compacted) {
    const std::lock_guard lock{mutex_};
    for (const Partition& partition : unmarked) {
        partitions_.try_emplace(partition);
    }
    for (const Partition& partition : compacted) {
        days_.try_emplace(partition);
    }
    is_loaded_ = true;
}

void CompactionBacklog::forget_everything() {
    const std::lock_guard lock{mutex_};
    is_loaded_ = false;
    partitions_.clear();
    days_.clear();
    gathered_.clear();
    ready_.clear();
}

bool CompactionBacklog::knows(const Partition& partition) const {
    const std::lock_guard lock{mutex_};
    return partitions_.contains(partition);
}

// If too many sessions are counted already, this one is compacted when its bucket ends.
void CompactionBacklog::add_stored(const Partition& partition, const SessionName& session) {
    const std::lock_guard lock{mutex_};
    Waiting& waiting = partitions_[partition];
    ++waiting.stored_count;
    const std::pair key{partition, session};
    if (gathered_.size() >= limits::kGatewaySessionsMax && !gathered_.contains(key)) {
        return;
    }
    if (++gathered_[key] >= batches_) {
        ready_.push_back(key);
        gathered_.erase(key);
    }
}

void CompactionBacklog::forget_partition(const Partition& partition) {
    const std::lock_guard lock{mutex_};
    partitions_.erase(partition);
    days_.erase(partition);
    std::erase_if(gathered_, [&](const auto& entry) { return entry.first.first == partition; });
    std::erase_if(ready_, [&](const auto& entry) { return entry.first == partition; });
}

void CompactionBacklog::await_day(const Partition& partition) {
    const std::lock_guard lock{mutex_};
    const auto waiting = partitions_.find(partition);
    if (waiting == partitions_.end() || !std::exchange(waiting->second.has_awaited_day, true)) {
        days_.try_emplace(partition);
    }
}

void CompactionBacklog::forget_day(const Partition& partition) {
    const std::lock_guard lock{mutex_};
    days_.erase(partition);
}

bool CompactionBacklog::is_day_due(const Partition& partition, std::optional<UtcNs> examined, UtcNs now) {
    const std::int64_t over_s = (std::int64_t{day_of(partition.bucket)} + 1) * kHoursPerDay * kBucketDurationS;
    return seconds(now) >= over_s + limits::kCompactionGraceS &&
           (!examined || seconds(now) - seconds(*examined) >= kAgainS);
}

bool CompactionBacklog::is_due(const Partition& partition, const Waiting& waiting, UtcNs now) {
    const std::int64_t over_s = (std::int64_t{partition.bucket.value} + 1) * kBucketDurationS;
    if (seconds(now) < over_s + limits::kCompactionGraceS) {
        return false;
    }
    if (!waiting.examined) {
        return true;
    }
    const bool is_changed = waiting.stored_count != waiting.examined_count;
    return seconds(now) - seconds(*waiting.examined) >= (is_changed ? limits::kCompactionGraceS : kAgainS);
}

std::optional<CompactionBacklog::Work> CompactionBacklog::take(UtcNs now) {
    const std::lock_guard lock{mutex_};
    if (!ready_.empty()) {
        const auto [partition, session] = ready_.front();
        ready_.pop_front();
        return Work{partition, session, 0};
    }
    for (const auto& [partition, waiting] : partitions_) {
        if (is_due(partition, waiting, now)) {
            return Work{partition, std::nullopt, waiting.stored_count};
        }
    }
    for (const auto& [partition, examined] : days_) {
        if (is_day_due(partition, examined, now)) {
            return Work{partition, std::nullopt, 0, true};
        }
    }
    return std::nullopt;
}

void CompactionBacklog::defer(const Work& work, UtcNs now) {
    const std::lock_guard lock{mutex_};
    if (work.is_day) {
        if (const auto found = days_.find(work.partition); found != days_.end()) {
            found->second = now;
        }
        return;
    }
    if (const auto found = partitions_.find(work.partition); found != partitions_.end() && !work.session) {
        found->second.examined = now;
        found->second.examined_count = work.stored_count;
    }
}

void CompactionBacklog::take_up(const Work& work) {
    const std::lock_guard lock{mutex_};
    if (work.is_day) {
        if (const auto found = days_.find(work.partition); found != days_.end()) {
            found->second.reset();
        }
    } else if (work.session) {
        ready_.emplace_front(work.partition, *work.session);
    } else if (const auto found = partitions_.find(work.partition); found != partitions_.end()) {
        found->second.examined.reset();
    }
}

bool CompactionBacklog::is_unchanged(const Work& work) const {
    const std::lock_guard lock{mutex_};
    const auto found = partitions_.find(work.partition);
    return found != partitions_.end() && found->second.stored_count == work.stored_count;
}

std::size_t CompactionBacklog::partition_count() const {
    const std::lock_guard lock{mutex_};
    return partitions_.size();
}

}  // namespace perfleet
