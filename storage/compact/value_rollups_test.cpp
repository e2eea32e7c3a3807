// Conformance of engines: rollups of values that compact() makes.
#include <algorithm>
#include <map>
#include <random>

#include "storage/number/rank_sketch.h"
#include "storage/rollup/rollup.h"
#include "storage/rollup/value_rollup.h"
#include "storage/store/testing/conformance.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::conformance::value_rollups_test {
namespace {

constexpr std::int64_t kHourNs = kBucketDurationS * kNsPerSecond;
constexpr std::uint64_t kRowsABatch = 40;
constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};
// Of sample_session's clock: where the bucket's hour begins.
constexpr std::uint64_t kHourTicks = std::uint64_t{kBucket.value} * kHourNs - 1'700'000'000'000'000'000ULL;

using Buckets = std::map<std::uint32_t, std::uint64_t>;

class StoreValueRollups : public testing::TestWithParam<TestEngine> {
protected:
    void SetUp() override {
        store_ = stores_.open();
        ASSERT_NE(store_, nullptr);
        ASSERT_TRUE(store_->define(partition_in(kBucket), sample_session(kTarget, kSession)).ok());
    }

    void put(std::uint64_t seq) {
        SampleIntegers rows;
        std::mt19937_64 random{seq};
        Buckets buckets;
        Moments moments;
        for (std::uint64_t i = 0; i < kRowsABatch; ++i) {
            const std::uint64_t value = 900 + random() % 8;
            ++buckets[RankSketch::bucket_of(value)];
            moments.add(value);
            rows[ColumnId::kTime].push_back(kHourTicks + seq * 2'000'000'000 + i);
            rows[ColumnId::kPid].push_back(5);
            rows[ColumnId::kTid].push_back(5);
            rows[ColumnId::kStack].push_back(0);
            rows[ColumnId::kWeight].push_back(1);
            rows[ColumnId::kValue].push_back(value);
        }
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, kBucket};
        batch.add(kPoints, rows);
        const auto built = batch.build();
        const auto outcomes = store_->put(partition_in(kBucket), std::span{&built, 1});
        ASSERT_TRUE(outcomes.ok());
        if (outcomes->front() == PutOutcome::kStored) {
            for (const auto& [bucket, row_count] : buckets) {
                stored_[bucket] += row_count;
            }
            moments_.merge(moments);
        }
    }

    void put_all(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            put(seq);
        }
    }

    void compact(std::uint64_t watermark) {
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{watermark}).ok());
        now_ns_ += 10 * kHourNs;
        ASSERT_TRUE(store_->compact(UtcNs{now_ns_}, [](const CompactionStep&) { return Visit::kContinue; }).ok());
    }

    [[nodiscard]] std::vector<ValueRollup> rollups(RollupLevel level) const {
        std::vector<ValueRollup> found;
        const auto visited =
            visit_rollups(*store_, partition_in(kBucket), kTarget, kSession, kPoints, {RollupContent::kValues, level},
                          [&](const RollupKey& key, std::string_view bytes) {
                              auto rollup = decode_value_rollup_untrusted(bytes);
                              EXPECT_TRUE(rollup.ok()) << rollup.error().message;
                              EXPECT_EQ(key.first_seq, rollup->seqs.front().first);
                              found.push_back(*rollup);
                              return Visit::kContinue;
                          });
        EXPECT_TRUE(visited.ok());
        return found;
    }

    void expect_all_stored(RollupLevel level) const {
        Buckets buckets;
        Moments moments;
        for (const ValueRollup& rollup : rollups(level)) {
            for (const ValueRollup::Cell& cell : rollup.cells) {
                moments.merge(cell.moments);
            }
            for (const ValueRollup::Bucket& bucket : rollup.buckets) {
                buckets[bucket.number] += bucket.row_count;
            }
        }
        EXPECT_EQ(buckets, stored_);
        EXPECT_EQ(moments, moments_);
    }

    static StoreOptions options() {
        StoreOptions options;
        options.rollups = RollupPolicy{.rows_min = 2 * kRowsABatch, .rows_per_sum = 2};
        return options;
    }

    TestStores stores_{GetParam(), options()};
    std::unique_ptr<Store> store_;
    std::int64_t now_ns_ = (std::int64_t{kBucket.value} + 100) * kHourNs;
    Buckets stored_;
    Moments moments_;
};

TEST_P(StoreValueRollups, SumWhatIsStoredByHourAndMinute) {
    put_all(1, 100);
    compact(100);
    ASSERT_EQ(rollups(RollupLevel::kHour).size(), 1U);
    const ValueRollup hour = rollups(RollupLevel::kHour)[0];
    EXPECT_EQ(hour.seqs, (std::vector<SeqRange>{{Seq{1}, Seq{100}}}));
    ASSERT_EQ(hour.cells.size(), 1U);
    EXPECT_EQ(hour.cells[0].number, std::int64_t{kBucket.value});
    EXPECT_EQ(rollups(RollupLevel::kMinute)[0].cells.size(), 4U);
    expect_all_stored(RollupLevel::kHour);
    expect_all_stored(RollupLevel::kMinute);
}

TEST_P(StoreValueRollups, CoverEachBatchOnceWhenSomeComeLateOrAgain) {
    put_all(1, 50);
    put_all(54, 60);
    compact(50);
    put_all(51, 53);
    put_all(10, 20);
    compact(60);
    const auto hours = rollups(RollupLevel::kHour);
    ASSERT_EQ(hours.size(), 2U);
    EXPECT_EQ(hours[0].seqs, (std::vector<SeqRange>{{Seq{1}, Seq{50}}}));
    EXPECT_EQ(hours[1].seqs, (std::vector<SeqRange>{{Seq{51}, Seq{60}}}));
    expect_all_stored(RollupLevel::kHour);
    expect_all_stored(RollupLevel::kMinute);
}

TEST_P(StoreValueRollups, StandBesideThoseOfStacks) {
    put_all(1, 20);
    compact(20);
    std::uint64_t row_count = 0;
    const auto visited =
        visit_rollups(*store_, partition_in(kBucket), kTarget, kSession, kPoints,
                      {RollupContent::kStacks, RollupLevel::kHour}, [&](const RollupKey&, std::string_view bytes) {
                          const auto rollup = decode_rollup_untrusted(bytes);
                          row_count += rollup.ok() ? rollup->row_count : 0;
                          return Visit::kContinue;
                      });
    EXPECT_TRUE(visited.ok());
    EXPECT_EQ(row_count, 20 * kRowsABatch);
    expect_all_stored(RollupLevel::kHour);
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());
    EXPECT_TRUE(rollups(RollupLevel::kHour).empty());
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreValueRollups, testing::ValuesIn(test_engines()),
                         [](const auto& parameter) { return std::string{engine_name(parameter.param)}; });

}  // namespace
}  // namespace perfleet::conformance::value_rollups_test
