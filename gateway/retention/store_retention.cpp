#include "gateway/retention/store_retention.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace perfleet {
namespace {

// Added to the process's niceness, as for compaction: the writer waits for this thread a moment in each drop.
constexpr int kRetentionNiceness = 3;

// After a drop the thread pauses for as long as the drop took, so that compaction keeps up with what drops flush and
// the writer isn't slowed down.
constexpr std::chrono::seconds kRestMax{2};

// Time to the next pass while other gateways haven't measured their shards.
constexpr std::chrono::seconds kUnmeasured{5};

// "2026-05-01T13:00Z": the start of the hour.
std::string hour_text(BucketNumber bucket) {
    const std::time_t begin = std::time_t{bucket.value} * kBucketDurationS;
    std::tm utc{};
    gmtime_r(&begin, &utc);
    char text[sizeof "-2147483648-00-00T00:00Z"];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%MZ", &utc)};
}

std::uint64_t sum_of(std::span<const BucketSize> sizes) {
    std::uint64_t sum = 0;
    for (const BucketSize& bucket : sizes) {
        sum += bucket.size_bytes;
    }
    return sum;
}

// The state of one class on this thread.
struct Kept {
    std::uint8_t number = 0;
    RetentionPolicy policy;
    std::optional<BucketNumber> reported_bucket;  // for which the warning about its size was logged
};

using PartitionCounts = std::map<BucketNumber, std::uint64_t>;

class RetentionThread final : public StoreRetention {
public:
    RetentionThread(Store& store, const RetentionRules& rules, LogSink log, Clock clock, std::uint64_t look_again_ns)
        : store_{store},
          keeps_everything_{rules.keeps_everything()},
          kept_{{RetentionRules::kDefaultClass, rules.rest, {}}},
          log_{std::move(log)},
          clock_{std::move(clock)},
          look_again_{look_again_ns} {
        for (const RetentionClass& one : rules.classes) {
            kept_.push_back({one.number, one.policy, {}});
            counts_.classes.push_back({one.name});
        }
        thread_ = std::thread{[this] { run(); }};
    }
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
    void run() {
        // Linux applies it to this thread alone.
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + kRetentionNiceness);
        bool has_failed = false;
        for (bool goes_on = true; goes_on;
             goes_on =
                 pause(is_measured_ ? look_again_ : std::min<std::chrono::nanoseconds>(look_again_, kUnmeasured))) {
            const auto looked = look();
            if (!looked.ok()) {
                {
                    const std::lock_guard lock{mutex_};
                    ++counts_.failures;
                }
                if (!has_failed) {
                    log({LogLevel::kWarning, "retention",
                         "dropping failed, and is tried again: " + looked.error().message});
                }
            }
            has_failed = !looked.ok();
        }
    }

    // All partitions of a class and hour, also those of empty shards, so that all late rows of the hour expire alike.
    // Other gateways drop those of their shards.
    [[nodiscard]] std::vector<Partition> partitions_of(std::uint8_t retention_class, BucketNumber bucket) {
        std::vector<Partition> partitions;
        for (std::uint16_t shard = 0; shard < store_.shards().value; ++shard) {
            if (store_.leases() == nullptr || store_.leases()->is_held(shard)) {
                partitions.push_back({bucket, retention_class, shard});
            }
        }
        return partitions;
    }

    // False if the thread must stop.
    [[nodiscard]] bool pause(std::chrono::nanoseconds duration) {
        std::unique_lock lock{mutex_};
        return !changed_.wait_for(lock, duration, [this] { return is_stopping_.load(); });
    }

    [[nodiscard]] Result<Done> look() {
        PERFLEET_TRY(finish_begun());
        const auto partitions = PERFLEET_TRY(store_.partitions());
        std::map<std::uint8_t, PartitionCounts> stored;
        for (const Partition& partition : partitions) {
            ++stored[partition.retention_class][partition.bucket];
        }
        for (const auto& [number, hours] : stored) {
            know(number);
        }
        const UtcNs now = clock_();
        const std::uint64_t as_of = store_.leases() != nullptr ? store_.leases()->change_count() : 0;
        std::vector<std::vector<BucketSize>> sizes;
        for (const Kept& kept : kept_) {
            sizes.push_back(PERFLEET_TRY(sizes_of(kept, stored[kept.number])));
        }
        ShardLeases::ClassSizes own;
        for (std::size_t i = 0; i < kept_.size(); ++i) {
            own[kept_[i].number] = sum_of(sizes[i]);
        }
        const std::optional<ShardLeases::ClassSizes> others = exchange_sizes(own, as_of);
        for (std::size_t i = 0; i < kept_.size(); ++i) {
            own[kept_[i].number] = PERFLEET_TRY(look_at(i, stored[kept_[i].number], sizes[i], others, now));
            if (is_stopping_) {
                return Done{};
            }
        }
        // At once: otherwise other gateways would drop more than necessary.
        (void)exchange_sizes(own, as_of);
        return Done{};
    }

    [[nodiscard]] Result<std::vector<BucketSize>> sizes_of(const Kept& kept, const PartitionCounts& stored) {
        std::vector<BucketSize> sizes;
        for (const auto& [bucket, partition_count] : stored) {
            auto size_bytes = PERFLEET_TRY(store_.size_bytes(partitions_of(kept.number, bucket)));
            sizes.push_back({bucket, size_bytes});
        }
        return sizes;
    }

    // Sizes of other gateways' shards by class; none if the store isn't shared.
    [[nodiscard]] std::optional<ShardLeases::ClassSizes> exchange_sizes(const ShardLeases::ClassSizes& own,
                                                                        std::uint64_t as_of) {
        std::optional<ShardLeases::ClassSizes> others = ShardLeases::ClassSizes{};
        if (store_.leases() != nullptr) {
            store_.leases()->publish_sizes(own, as_of);
            others = store_.leases()->sizes_of_others();
        }
        is_measured_ = others.has_value();
        if (others) {
            std::uint64_t store_bytes = 0;
            for (const ShardLeases::ClassSizes& part : {own, *others}) {
                for (const auto& [retention_class, size_bytes] : part) {
                    store_bytes += size_bytes;
                }
            }
            const std::lock_guard lock{mutex_};
            counts_.store_bytes_now = store_bytes;
        }
        return others;
    }

    // Adds a class that no rule names: its rows are kept.
    void know(std::uint8_t number) {
        if (std::any_of(kept_.begin(), kept_.end(), [&](const Kept& one) { return one.number == number; })) {
            return;
        }
        const std::string name = std::to_string(number);
        kept_.push_back({number, {}, {}});
        {
            const std::lock_guard lock{mutex_};
            counts_.classes.push_back({name});
        }
        if (keeps_everything_) {
            return;
        }
        log({LogLevel::kWarning, "retention",
             "the store has rows of retention class " + name +
                 ", which no rule names: they are kept. A rule with that number limits them"});
    }

    // Drops what exceeds the policy, and returns the remaining bytes.
    [[nodiscard]] Result<std::uint64_t> look_at(std::size_t index, const PartitionCounts& stored,
                                                const std::vector<BucketSize>& sizes,
                                                const std::optional<ShardLeases::ClassSizes>& others, UtcNs now) {
        const Kept& kept = kept_[index];
        RetentionPolicy policy = kept.policy;
        if (others) {
            const auto found = others->find(kept.number);
            policy = own_part_of(policy, sum_of(sizes), found != others->end() ? found->second : 0);
        } else {
            policy.size_bytes.reset();
        }
        const std::vector<BucketSize> too_much = buckets_to_drop(policy, sizes, now);
        for (const BucketSize& bucket : too_much) {
            const auto began = std::chrono::steady_clock::now();
            PERFLEET_TRY(drop(index, bucket, stored.at(bucket.bucket)));
            const auto took = std::chrono::steady_clock::now() - began;
            if (!pause(std::min<std::chrono::nanoseconds>(took, kRestMax))) {
                return sum_of(sizes);
            }
        }
        const std::span left = std::span{sizes}.subspan(too_much.size());
        const std::uint64_t left_bytes = sum_of(left);
        log_oversized_hour(index, policy, left_bytes, now);
        const std::lock_guard lock{mutex_};
        ClassRetentionCounts& counts = counts_.classes[index];
        counts.kept_bytes_now = left_bytes;
        counts.oldest_bucket_s_now = left.empty() ? 0 : left.front().bucket.value * kBucketDurationS;
        return left_bytes;
    }

    [[nodiscard]] Result<Done> drop(std::size_t index, const BucketSize& bucket, std::uint64_t partition_count) {
        begun_ = Begun{index, partitions_of(kept_[index].number, bucket.bucket)};
        auto dropped = PERFLEET_TRY(finish_begun());
        std::string name;
        {
            const std::lock_guard lock{mutex_};
            ClassRetentionCounts& counts = counts_.classes[index];
            counts.partitions_dropped += partition_count;
            counts.dropped_bytes += bucket.size_bytes;
            name = counts.name;
        }
        log({LogLevel::kNotice,
             "retention",
             "dropped what was stored of the hour from " + hour_text(bucket.bucket) + " on",
             {{"class", name},
              {"partitions", std::to_string(partition_count)},
              {"rows", std::to_string(dropped)},
              {"bytes", std::to_string(bucket.size_bytes)}}});
        return Done{};
    }

    // Returns the number of rows that expired. After a failure the partitions are hidden already, so only this thread
    // knows of them until the next start.
    [[nodiscard]] Result<std::uint64_t> finish_begun() {
        if (!begun_) {
            return std::uint64_t{0};
        }
        std::erase_if(begun_->partitions, [this](const Partition& partition) {
            return store_.leases() != nullptr && !store_.leases()->is_held(partition.shard);
        });
        auto dropped = store_.drop(begun_->partitions, &is_stopping_);
        if (dropped.ok()) {
            const std::lock_guard lock{mutex_};
            counts_.classes[begun_->index].rows_expired += *dropped;
            begun_.reset();
        }
        return dropped;
    }

    void log_oversized_hour(std::size_t index, const RetentionPolicy& policy, std::uint64_t left_bytes, UtcNs now) {
        Kept& kept = kept_[index];
        if (!policy.size_bytes || left_bytes <= *policy.size_bytes || kept.reported_bucket == bucket_of(now)) {
            return;
        }
        kept.reported_bucket = bucket_of(now);
        log({LogLevel::kWarning,
             "retention",
             "this hour alone exceeds the size limit, and stays until it is over",
             {{"class", counts().classes[index].name}, {"bytes", std::to_string(left_bytes)}}});
    }

    void log(const LogEvent& event) {
        if (log_) {
            log_(event);
        }
    }

    // A drop that hasn't succeeded yet.
    struct Begun {
        std::size_t index = 0;
        std::vector<Partition> partitions;
    };

    Store& store_;
    const bool keeps_everything_;  // only measures
    std::vector<Kept> kept_;       // same order as counts_.classes
    LogSink log_;
    Clock clock_;
    std::chrono::nanoseconds look_again_;
    std::optional<Begun> begun_;
    bool is_measured_ = true;  // by all gateways of the store
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> is_stopping_ = false;
    RetentionCounts counts_;
    std::thread thread_;  // last member: it uses those above
};

}  // namespace

std::unique_ptr<StoreRetention> StoreRetention::start(Store& store, const RetentionRules& rules, LogSink log,
                                                      Clock clock, std::uint64_t look_again_ns) {
    return std::make_unique<RetentionThread>(store, rules, std::move(log), std::move(clock), look_again_ns);
}

}  // namespace perfleet
