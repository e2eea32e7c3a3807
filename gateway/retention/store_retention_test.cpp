#include "gateway/retention/store_retention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "storage/store/testing/sample_batches.h"
#include "storage/store/testing/store_over.h"
#include "storage/store/testing/stores.h"

namespace perfleet {
namespace {

constexpr TargetId kTarget{17};
constexpr SessionId kSession{1, 2};
constexpr Series kSeries{Kind::kCounter, EventNumber{0}};
constexpr std::uint32_t kFirstBucket = 480'000;
constexpr std::uint64_t kBatchRows = 100;
constexpr std::uint64_t kLookAgainNs = 1'000'000;

UtcNs end_of(std::uint32_t bucket) { return UtcNs{(bucket + 1LL) * kBucketDurationS * kNsPerSecond}; }

AdmittedBatch batch_of(std::uint64_t seq, std::uint32_t bucket) {
    SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, BucketNumber{bucket}};
    batch.add(kSeries, {{ColumnId::kTime, std::vector<std::uint64_t>(kBatchRows, seq)}});
    return batch.build();
}

class Retention : public testing::TestWithParam<TestEngine> {
protected:
    // A batch in each of these hours.
    void SetUp() override {
        store_ = stores_.open();
        for (std::uint32_t hour = 0; hour < kHours; ++hour) {
            put(hour + 1, kFirstBucket + hour);
        }
        now_ = end_of(kFirstBucket + kHours - 2).value;
    }

    PutOutcome put(std::uint64_t seq, std::uint32_t bucket, std::uint8_t retention_class = 0) {
        const Partition partition = partition_of(kTarget, BucketNumber{bucket}, retention_class);
        EXPECT_TRUE(store_->define(partition, sample_session(kTarget, kSession)).ok());
        const std::vector batches{batch_of(seq, bucket)};
        const auto outcomes = store_->put(partition, batches);
        EXPECT_TRUE(outcomes.ok());
        EXPECT_TRUE(store_->sync().ok());
        return outcomes->at(0);
    }

    void start(const RetentionPolicy& policy) {
        RetentionRules rules;
        rules.rest = policy;
        start_with(rules);
    }

    void start_with(const RetentionRules& rules) {
        retention_ = StoreRetention::start(
            *store_, rules,
            [this](const LogEvent& event) {
                const std::lock_guard lock{reported_mutex_};
                reported_.emplace_back(event.text());
            },
            [this] {
                ++look_count_;
                return UtcNs{now_};
            },
            kLookAgainNs);
    }

    void wait_for_looks(int count) {
        const int until = look_count_ + count;
        while (look_count_ < until) {
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
    }

    std::vector<std::uint32_t> hours_left(std::uint8_t retention_class = 0) {
        std::vector<std::uint32_t> hours;
        const auto partitions = store_->partitions();
        EXPECT_TRUE(partitions.ok());
        for (const Partition& partition : *partitions) {
            if (partition.retention_class == retention_class) {
                hours.push_back(partition.bucket.value - kFirstBucket);
            }
        }
        return hours;
    }

    std::uint64_t expired_rows() {
        const auto expired = store_->expired(kTarget, kSession);
        EXPECT_TRUE(expired.ok());
        return expired->empty() ? 0 : expired->at(0).second;
    }

    static constexpr std::uint32_t kHours = 6;
    TestStores stores_{GetParam()};
    std::unique_ptr<Store> store_;
    std::atomic<std::int64_t> now_ = 0;
    std::atomic<int> look_count_ = 0;
    std::mutex reported_mutex_;
    std::vector<std::string> reported_;
    std::unique_ptr<StoreRetention> retention_;
};

using Hours = std::vector<std::uint32_t>;

TEST_P(Retention, DropsHoursAsTheyBecomeTooOldAndCountsTheirRows) {
    start({2 * kBucketDurationS, {}});
    wait_for_looks(2);
    EXPECT_EQ(hours_left(), (Hours{3, 4, 5}));
    EXPECT_EQ(expired_rows(), 3 * kBatchRows);
    EXPECT_EQ(retention_->counts().classes.at(0).oldest_bucket_s_now, (kFirstBucket + 3LL) * kBucketDurationS);
    now_ += kBucketDurationS * kNsPerSecond;
    wait_for_looks(2);
    EXPECT_EQ(hours_left(), (Hours{4, 5}));
    const RetentionCounts counts = retention_->counts();
    ASSERT_EQ(counts.classes.size(), 1U);
    EXPECT_EQ(counts.classes[0].name, "default");
    EXPECT_EQ(counts.classes[0].partitions_dropped, 4U);
    EXPECT_EQ(counts.classes[0].rows_expired, 4 * kBatchRows);
    EXPECT_GT(counts.classes[0].dropped_bytes, 0U);
    EXPECT_EQ(counts.failures, 0U);
    retention_.reset();
    ASSERT_EQ(reported_.size(), 4U);
    EXPECT_EQ(reported_[0], "dropped what was stored of the hour from 2024-10-04T00:00Z on");
    EXPECT_EQ(reported_[3], "dropped what was stored of the hour from 2024-10-04T03:00Z on");
}

TEST_P(Retention, CountsLateDataOfADroppedHourAsExpiredOnce) {
    start({2 * kBucketDurationS, {}});
    wait_for_looks(2);
    retention_.reset();
    EXPECT_EQ(put(100, kFirstBucket + 1), PutOutcome::kExpired);
    EXPECT_EQ(put(100, kFirstBucket + 1), PutOutcome::kDuplicate);
    EXPECT_EQ(put(1, kFirstBucket), PutOutcome::kDuplicate);
    EXPECT_EQ(expired_rows(), 4 * kBatchRows);
}

TEST_P(Retention, DropsForBytesAllButTheOpenHourAndTellsThatItIsTooLarge) {
    start({{}, 1});
    wait_for_looks(2);
    EXPECT_EQ(hours_left(), Hours{5}) << "the open hour stays";
    wait_for_looks(5);
    retention_.reset();
    ASSERT_EQ(reported_.size(), 6U);
    EXPECT_NE(reported_.back().find("this hour alone exceeds"), std::string::npos) << reported_.back();
}

TEST_P(Retention, KeepsEachClassByItsOwnRuleAndOneThatNoRuleNames) {
    for (std::uint32_t hour = 0; hour < kHours; ++hour) {
        put(10 + hour, kFirstBucket + hour, 1);
        put(20 + hour, kFirstBucket + hour, 2);
        put(30 + hour, kFirstBucket + hour, 7);
    }
    RetentionRules rules;
    rules.rest.age_s = 3 * kBucketDurationS;
    rules.classes = {{"dev", 1, true, {}, {}, {}, {kBucketDurationS, {}}}, {"few", 2, true, {}, {}, {}, {0, {}}}};
    start_with(rules);
    wait_for_looks(2);
    EXPECT_EQ(hours_left(), (Hours{2, 3, 4, 5}));
    EXPECT_EQ(hours_left(1), (Hours{4, 5}));
    EXPECT_EQ(hours_left(2), Hours{5});
    EXPECT_EQ(hours_left(7), (Hours{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(expired_rows(), (2 + 4 + 5) * kBatchRows);
    wait_for_looks(2);
    const RetentionCounts counts = retention_->counts();
    retention_.reset();
    ASSERT_EQ(counts.classes.size(), 4U);
    const std::pair<const char*, std::uint64_t> expired[] = {{"default", 2}, {"dev", 4}, {"few", 5}, {"7", 0}};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(counts.classes[i].name, expired[i].first);
        EXPECT_EQ(counts.classes[i].rows_expired, expired[i].second * kBatchRows);
        EXPECT_EQ(counts.classes[i].partitions_dropped, expired[i].second);
        // What is less than a block of a table file has no size there.
        EXPECT_TRUE(GetParam() == TestEngine::kRocksdb || counts.classes[i].kept_bytes_now > 0);
    }
    const auto said = [&](const char* words) {
        return std::count_if(reported_.begin(), reported_.end(),
                             [&](const std::string& text) { return text.find(words) != std::string::npos; });
    };
    EXPECT_EQ(said("the store has rows of retention class 7, which no rule names"), 1);
    EXPECT_EQ(said("dropped what was stored"), 11);
}

TEST_P(Retention, CountsLateDataAsExpiredInTheClassThatWasDroppedAlone) {
    put(10, kFirstBucket, 1);
    RetentionRules rules;
    rules.classes = {{"dev", 1, true, {}, {}, {}, {kBucketDurationS, {}}}};
    start_with(rules);
    wait_for_looks(2);
    retention_.reset();
    EXPECT_EQ(put(100, kFirstBucket, 1), PutOutcome::kExpired);
    EXPECT_EQ(put(101, kFirstBucket, 0), PutOutcome::kStored);
    EXPECT_EQ(expired_rows(), 2 * kBatchRows);
}

TEST_P(Retention, GoesOnWhereAnEarlierOneStopped) {
    start({2 * kBucketDurationS, {}});
    retention_.reset();  // it may have begun
    start({2 * kBucketDurationS, {}});
    wait_for_looks(2);
    EXPECT_EQ(hours_left(), (Hours{3, 4, 5}));
    EXPECT_EQ(expired_rows(), 3 * kBatchRows);
}

INSTANTIATE_TEST_SUITE_P(Engines, Retention, testing::ValuesIn(test_engines()),
                         [](const auto& engine) { return std::string{engine_name(engine.param)}; });

// A store in memory that others share: the test chooses their sizes.
class SharedStore final : public StoreOver, private ShardLeases {
public:
    explicit SharedStore(std::unique_ptr<Store> store) : StoreOver{std::move(store)} {}

    ShardLeases* leases() override { return this; }

    std::optional<ClassSizes> others;
    ClassSizes published;

private:
    Result<Done> join(const GatewayAddress&) override { return Done{}; }
    News take_news() override { return {}; }
    void give_up(std::uint16_t) override {}
    bool is_held(std::uint16_t) const override { return true; }
    std::uint16_t held_count() const override { return shards().value; }
    std::optional<GatewayAddress> holder_of(std::uint16_t) const override { return std::nullopt; }
    std::vector<Message> take_requests() override { return {}; }
    void answer(Message) override {}
    std::uint64_t change_count() const override { return 0; }
    void publish_sizes(const ClassSizes& held, std::uint64_t) override { published = held; }
    std::optional<ClassSizes> sizes_of_others() const override { return others; }
};

class SharedRetention : public Retention {
protected:
    void SetUp() override {
        Retention::SetUp();
        std::vector<Partition> partitions;
        for (std::uint32_t hour = 0; hour < kHours; ++hour) {
            partitions.push_back(partition_of(kTarget, BucketNumber{kFirstBucket + hour}, 0));
        }
        own_bytes_ = *store_->size_bytes(partitions);
        auto shared = std::make_unique<SharedStore>(std::move(store_));
        shared_ = shared.get();
        store_ = std::move(shared);
    }

    SharedStore* shared_ = nullptr;
    std::uint64_t own_bytes_ = 0;
};

TEST_P(SharedRetention, ALimitInBytesIsOfWhatAllGatewaysHave) {
    shared_->others = ShardLeases::ClassSizes{{0, own_bytes_ / 2}, {9, 1ULL << 50}};
    start({{}, own_bytes_ + own_bytes_ / 20});
    wait_for_looks(5);  // the others drop nothing, so that its part becomes less
    const RetentionCounts counts = retention_->counts();
    retention_.reset();
    EXPECT_EQ(hours_left(), (Hours{3, 4, 5}));
    ASSERT_EQ(shared_->published.size(), 1U);
    EXPECT_LT(shared_->published.at(0), own_bytes_);
    EXPECT_EQ(counts.store_bytes_now, shared_->published.at(0) + own_bytes_ / 2 + (1ULL << 50));
}

TEST_P(SharedRetention, DropsNothingForBytesWhileItIsNotKnownWhatOthersHave) {
    start({{}, 1});
    wait_for_looks(2);
    EXPECT_EQ(hours_left(), (Hours{0, 1, 2, 3, 4, 5}));
    retention_.reset();
    start({2 * kBucketDurationS, 1});
    wait_for_looks(2);
    EXPECT_EQ(hours_left(), (Hours{3, 4, 5}));
}

TEST_P(SharedRetention, WithoutRulesItPublishesSizesOnly) {
    put(10, kFirstBucket, 7);
    start({});
    wait_for_looks(2);
    retention_.reset();
    EXPECT_EQ(shared_->published.at(0), own_bytes_);
    EXPECT_GT(shared_->published.at(7), 0U);
    EXPECT_TRUE(reported_.empty());
}

INSTANTIATE_TEST_SUITE_P(Engines, SharedRetention, testing::Values(TestEngine::kMemory),
                         [](const auto& engine) { return std::string{engine_name(engine.param)}; });

}  // namespace
}  // namespace perfleet
