#include "gateway/retention/store_retention.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schemas/vocabulary/limits.h"

namespace perfleet {
namespace {

// Beside the process's own, as for joining: the writer waits a moment of each drop for this thread.
constexpr int kNiceness = 3;

// Between two drops it rests for as long as the first one took, so that what each of them flushes is compacted before
// the writer is slowed down for it.
constexpr std::chrono::seconds kRestMax{2};

// "2026-05-01T13:00Z", the beginning of the hour.
std::string hour_text(BucketNumber bucket) {
    const std::time_t begin = std::time_t{bucket.value} * kBucketDurationS;
    std::tm utc{};
    gmtime_r(&begin, &utc);
    char text[sizeof "-2147483648-00-00T00:00Z"];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%MZ", &utc)};
}

// All of an hour: also the shards that nothing is in, so that everything late of that hour expires alike.
std::vector<Partition> partitions_of(BucketNumber bucket, const std::set<std::uint8_t>& classes) {
    std::vector<Partition> partitions;
    for (const std::uint8_t retention_class : classes) {
        for (std::uint16_t shard = 0; shard < limits::kPartitionShards; ++shard) {
            partitions.push_back({bucket, retention_class, shard});
        }
    }
    return partitions;
}

class RetentionThread final : public StoreRetention {
public:
    RetentionThread(Store& store, const RetentionPolicy& policy, Telling tell, Clock clock, std::uint64_t look_again_ns)
        : store_{store},
          policy_{policy},
          tell_{std::move(tell)},
          clock_{std::move(clock)},
          look_again_{look_again_ns},
          thread_{[this] { run(); }} {}
    ~RetentionThread() override {
        {
            const std::lock_guard lock{mutex_};
            is_stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    RetentionCounts counts() const override {
        const std::lock_guard lock{mutex_};
        return counts_;
    }

private:
    struct Stored {
        std::set<std::uint8_t> classes;
        std::uint64_t partition_count = 0;
    };

    void run() {
        // Of this thread alone, on Linux.
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kNiceness);
        bool has_failed = false;
        for (bool goes_on = true; goes_on; goes_on = pause(look_again_)) {
            const auto looked = look();
            if (!looked.ok()) {
                {
                    const std::lock_guard lock{mutex_};
                    ++counts_.failures;
                }
                if (!has_failed) {
                    tell({LogLevel::kWarning, "retention",
                          "can't drop what is too old or too much, and tries again: " + looked.error().message});
                }
            }
            has_failed = !looked.ok();
        }
    }

    // False when it is to stop.
    [[nodiscard]] bool pause(std::chrono::nanoseconds duration) {
        std::unique_lock lock{mutex_};
        return !changed_.wait_for(lock, duration, [this] { return is_stopping_.load(); });
    }

    [[nodiscard]] Result<Done> look() {
        if (auto finished = finish_begun(); !finished.ok()) {
            return finished;
        }
        const auto partitions = store_.partitions();
        if (!partitions.ok()) {
            return partitions.error();
        }
        std::map<BucketNumber, Stored> stored;
        for (const Partition& partition : *partitions) {
            Stored& here = stored[partition.bucket];
            here.classes.insert(partition.retention_class);
            ++here.partition_count;
        }
        std::vector<BucketSize> sizes;
        for (const auto& [bucket, here] : stored) {
            std::uint64_t size_bytes = 0;
            if (policy_.size_bytes) {
                auto size = store_.size_bytes(partitions_of(bucket, here.classes));
                if (!size.ok()) {
                    return size.error();
                }
                size_bytes = *size;
            }
            sizes.push_back({bucket, size_bytes});
        }
        const UtcNs now = clock_();
        const std::vector<BucketSize> too_much = buckets_to_drop(policy_, sizes, now);
        for (const BucketSize& bucket : too_much) {
            const auto began = std::chrono::steady_clock::now();
            if (auto dropped = drop(bucket, stored[bucket.bucket]); !dropped.ok()) {
                return dropped;
            }
            const auto took = std::chrono::steady_clock::now() - began;
            if (!pause(std::min<std::chrono::nanoseconds>(took, kRestMax))) {
                return Done{};
            }
        }
        tell_of_an_hour_too_large(std::span{sizes}.subspan(too_much.size()), now);
        const std::lock_guard lock{mutex_};
        counts_.oldest_bucket_s_now =
            too_much.size() == sizes.size() ? 0 : sizes[too_much.size()].bucket.value * kBucketDurationS;
        return Done{};
    }

    [[nodiscard]] Result<Done> drop(BucketSize bucket, const Stored& stored) {
        const std::vector<Partition> partitions = partitions_of(bucket.bucket, stored.classes);
        if (!policy_.size_bytes) {
            auto size = store_.size_bytes(partitions);
            bucket.size_bytes = size.ok() ? *size : 0;
        }
        begun_ = partitions;
        auto dropped = store_.drop(partitions, &is_stopping_);
        if (!dropped.ok()) {
            return dropped.error();
        }
        begun_.clear();
        {
            const std::lock_guard lock{mutex_};
            counts_.partitions_dropped += stored.partition_count;
            counts_.rows_expired += *dropped;
            counts_.size_bytes += bucket.size_bytes;
        }
        tell({LogLevel::kNotice,
              "retention",
              "dropped what was stored of the hour from " + hour_text(bucket.bucket) + " on",
              {{"partitions", std::to_string(stored.partition_count)},
               {"rows", std::to_string(*dropped)},
               {"bytes", std::to_string(bucket.size_bytes)}}});
        return Done{};
    }

    // What a failure left: hidden already, so that nobody but this thread knows of it until the next start.
    [[nodiscard]] Result<Done> finish_begun() {
        if (begun_.empty()) {
            return Done{};
        }
        auto dropped = store_.drop(begun_, &is_stopping_);
        if (!dropped.ok()) {
            return dropped.error();
        }
        begun_.clear();
        const std::lock_guard lock{mutex_};
        counts_.rows_expired += *dropped;
        return Done{};
    }

    void tell_of_an_hour_too_large(std::span<const BucketSize> left, UtcNs now) {
        std::uint64_t left_bytes = 0;
        for (const BucketSize& bucket : left) {
            left_bytes += bucket.size_bytes;
        }
        if (!policy_.size_bytes || left_bytes <= *policy_.size_bytes || told_bucket_ == bucket_of(now)) {
            return;
        }
        told_bucket_ = bucket_of(now);
        tell({LogLevel::kWarning,
              "retention",
              "this hour alone takes more than is to be kept (--retain-bytes), and stays until it is over",
              {{"bytes", std::to_string(left_bytes)}}});
    }

    void tell(const LogEvent& event) {
        if (tell_) {
            tell_(event);
        }
    }

    Store& store_;
    RetentionPolicy policy_;
    Telling tell_;
    Clock clock_;
    std::chrono::nanoseconds look_again_;
    std::vector<Partition> begun_;  // whose drop isn't known to be done
    std::optional<BucketNumber> told_bucket_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> is_stopping_ = false;
    RetentionCounts counts_;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace

std::unique_ptr<StoreRetention> StoreRetention::start(Store& store, const RetentionPolicy& policy, Telling tell,
                                                      Clock clock, std::uint64_t look_again_ns) {
    return std::make_unique<RetentionThread>(store, policy, std::move(tell), std::move(clock), look_again_ns);
}

}  // namespace perfleet
