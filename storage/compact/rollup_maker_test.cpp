// Conformance of engines: rollups that compact() makes.
#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "storage/rollup/rollup.h"
#include "storage/store/testing/conformance.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::conformance::rollup_maker_test {
namespace {

constexpr std::int64_t kHourNs = kBucketDurationS * kNsPerSecond;
constexpr UtcNs kLater{(std::int64_t{kBucket.value} + 100) * kHourNs};
constexpr std::uint64_t kRowsABatch = 40;
// Of sample_session's clock: where the bucket's hour begins.
constexpr std::uint64_t kHourTicks = std::uint64_t{kBucket.value} * kHourNs - 1'700'000'000'000'000'000ULL;

// (pid, tid, stack) → rows.
using Counts = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t>;

class StoreRollups : public testing::TestWithParam<TestEngine> {
protected:
    void SetUp() override {
        store_ = stores_.open();
        ASSERT_NE(store_, nullptr);
        ASSERT_TRUE(store_->define(partition_in(kBucket), sample_session(kTarget, kSession)).ok());
    }

    void put(std::uint64_t seq, std::uint32_t epoch = 0) {
        SampleIntegers rows;
        std::mt19937_64 random{seq};
        for (std::uint64_t i = 0; i < kRowsABatch; ++i) {
            rows[ColumnId::kTime].push_back(kHourTicks + seq * 2'000'000'000 + i);
            rows[ColumnId::kPid].push_back(5);
            rows[ColumnId::kTid].push_back(5 + random() % 2);
            rows[ColumnId::kStack].push_back(random() % 3);
            rows[ColumnId::kWeight].push_back(7);
        }
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{epoch}, kBucket};
        batch.add(kSamples, rows);
        batch.entry(kSamples, CountName::kProduced, kRowsABatch * seq);
        const auto built = batch.build();
        const auto outcomes = store_->put(partition_in(kBucket), std::span{&built, 1});
        ASSERT_TRUE(outcomes.ok());
        if (outcomes->front() == PutOutcome::kStored) {
            for (std::uint64_t i = 0; i < kRowsABatch; ++i) {
                ++stored_[{5, static_cast<std::uint32_t>(rows[ColumnId::kTid][i]),
                           static_cast<std::uint32_t>(rows[ColumnId::kStack][i])}];
            }
        }
    }

    void put_all(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            put(seq);
        }
    }

    void compact(std::uint64_t watermark, UtcNs now = kLater) {
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{watermark}).ok());
        const auto compacted = store_->compact(now, [&](const CompactionStep& step) {
            written_ += step.rollups;
            rows_left_ += step.rows_left;
            return Visit::kContinue;
        });
        ASSERT_TRUE(compacted.ok()) << compacted.error().message;
    }

    [[nodiscard]] std::vector<Rollup> rollups(RollupLevel level) const {
        std::vector<Rollup> found;
        EXPECT_TRUE(visit_rollups(*store_, partition_in(kBucket), kTarget, kSession, kSamples,
                                  {RollupContent::kStacks, level},
                                  [&](const RollupKey& key, std::string_view bytes) {
                                      auto rollup = decode_rollup_untrusted(bytes);
                                      EXPECT_TRUE(rollup.ok()) << rollup.error().message;
                                      EXPECT_EQ(key.first_seq, rollup->seqs.front().first);
                                      EXPECT_EQ(key.kind.level, level);
                                      found.push_back(*rollup);
                                      return Visit::kContinue;
                                  })
                        .ok());
        return found;
    }

    [[nodiscard]] Counts counts(RollupLevel level) const {
        Counts counts;
        for (const Rollup& rollup : rollups(level)) {
            std::uint32_t sum = 0;
            for (const Rollup::Thread& thread : rollup.threads) {
                for (; sum < thread.sums_end; ++sum) {
                    counts[{thread.pid, thread.tid, rollup.sums[sum].stack.value}] += rollup.sums[sum].row_count;
                }
            }
        }
        return counts;
    }

    static StoreOptions options() {
        StoreOptions options;
        options.rollups = RollupPolicy{.rows_min = 2 * kRowsABatch, .rows_per_sum = 2};
        return options;
    }

    TestStores stores_{GetParam(), options()};
    std::unique_ptr<Store> store_;
    Counts stored_;
    std::uint64_t written_ = 0;
    std::uint64_t rows_left_ = 0;
};

TEST_P(StoreRollups, CountWhatIsStoredByHourAndMinute) {
    put_all(1, 100);
    compact(100);
    ASSERT_EQ(rollups(RollupLevel::kHour).size(), 1U);
    const Rollup hour = rollups(RollupLevel::kHour)[0];
    EXPECT_EQ(hour.seqs, (std::vector<SeqRange>{{Seq{1}, Seq{100}}}));
    EXPECT_EQ(hour.cells.size(), 1U);
    EXPECT_EQ(hour.cells[0].number, std::int64_t{kBucket.value});
    EXPECT_EQ(rollups(RollupLevel::kMinute)[0].cells.size(), 4U);
    EXPECT_EQ(counts(RollupLevel::kHour), stored_);
    EXPECT_EQ(counts(RollupLevel::kMinute), stored_);
    compact(100);
    EXPECT_EQ(written_, 2U);
}

// All rows of one sum have one name then.
TEST_P(StoreRollups, EndAThreadsSumsWhereItMayHaveGotAnotherName) {
    put_all(1, 4);
    SampleBatch renaming{kTarget, kSession, Seq{5}, EpochNumber{0}, kBucket};
    renaming.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {kHourTicks + 5'000'000'000}},
                                           {ColumnId::kTaskOp, {static_cast<std::uint64_t>(TaskOp::kComm)}},
                                           {ColumnId::kTid, {5}},
                                           {ColumnId::kString, {1}}});
    renaming.add_strings({{1, "renamed"}});
    const std::vector built{renaming.build()};
    ASSERT_TRUE(store_->put(partition_in(kBucket), built).ok());
    compact(5);
    const std::vector<Rollup> found = rollups(RollupLevel::kHour);
    ASSERT_EQ(found.size(), 1U);
    std::vector<std::uint32_t> tids;
    for (const Rollup::Thread& thread : found[0].threads) {
        tids.push_back(thread.tid);
    }
    EXPECT_EQ(tids, (std::vector<std::uint32_t>{5, 5, 6}));
    EXPECT_EQ(counts(RollupLevel::kHour), stored_);
}

// By two minutes it is at the end of the rows.
TEST_P(StoreRollups, HaveTheMinutesOfACorrectedClock) {
    put_all(1, 4);
    SampleBatch correcting{kTarget, kSession, Seq{5}, EpochNumber{0}, kBucket};
    correcting.add(kSamples, {{ColumnId::kTime, {kHourTicks + 10'000'000'000}}});
    constexpr std::int64_t kHour = std::int64_t{kBucket.value} * kHourNs;
    correcting.clock_point({Ticks{kHourTicks + 10'000'000'000}, UtcNs{kHour + 130 * kNsPerSecond}, 0});
    const std::vector built{correcting.build()};
    ASSERT_TRUE(store_->put(partition_in(kBucket), built).ok());
    compact(5);
    ASSERT_EQ(rollups(RollupLevel::kMinute).size(), 1U);
    const Rollup minutes = rollups(RollupLevel::kMinute)[0];
    ASSERT_EQ(minutes.cells.size(), 1U);
    EXPECT_EQ(minutes.cells[0].number, std::int64_t{kBucket.value} * 60 + 2);
}

TEST_P(StoreRollups, HaveTheMinutesOfAClockThatWasCorrectedInTheHourBefore) {
    constexpr BucketNumber kBefore{kBucket.value - 1};
    ASSERT_TRUE(store_->define(partition_in(kBefore), sample_session(kTarget, kSession)).ok());
    SampleBatch correcting{kTarget, kSession, Seq{1}, EpochNumber{9}, kBefore};
    correcting.add(kSamples, {{ColumnId::kTime, {kHourTicks - 10'000'000'000}}});
    constexpr std::int64_t kHour = std::int64_t{kBucket.value} * kHourNs;
    correcting.clock_point({Ticks{kHourTicks - 10'000'000'000}, UtcNs{kHour + 110 * kNsPerSecond}, 0});
    const std::vector built{correcting.build()};
    ASSERT_TRUE(store_->put(partition_in(kBefore), built).ok());
    put_all(2, 5);
    compact(5);
    ASSERT_EQ(rollups(RollupLevel::kMinute).size(), 1U);
    const Rollup minutes = rollups(RollupLevel::kMinute)[0];
    ASSERT_EQ(minutes.cells.size(), 1U);
    EXPECT_EQ(minutes.cells[0].number, std::int64_t{kBucket.value} * 60 + 2);
}

TEST_P(StoreRollups, CoverEachBatchOnceWhenSomeComeLateOrAgain) {
    put_all(1, 50);
    put_all(54, 60);
    compact(50);
    put_all(51, 53);
    put_all(10, 20);
    compact(60, UtcNs{kLater.value + 10 * kHourNs});
    put_all(61, 61);
    compact(61, UtcNs{kLater.value + 20 * kHourNs});
    const auto hours = rollups(RollupLevel::kHour);
    ASSERT_EQ(hours.size(), 2U);
    EXPECT_EQ(hours[0].seqs, (std::vector<SeqRange>{{Seq{1}, Seq{50}}}));
    EXPECT_EQ(hours[1].seqs, (std::vector<SeqRange>{{Seq{51}, Seq{60}}}));
    EXPECT_EQ(hours[0].row_count + hours[1].row_count, 60 * kRowsABatch);
    put_all(62, 63);
    compact(63, UtcNs{kLater.value + 30 * kHourNs});
    EXPECT_EQ(counts(RollupLevel::kHour), stored_);
    EXPECT_EQ(counts(RollupLevel::kMinute), stored_);
}

TEST_P(StoreRollups, AreSplitWhereOneWouldHaveTooManySums) {
    StoreOptions small = options();
    small.rollups->sums_max = 2;
    TestStores stores{GetParam(), small};
    store_ = stores.open();
    ASSERT_TRUE(store_->define(partition_in(kBucket), sample_session(kTarget, kSession)).ok());
    put_all(1, 20);
    put(21, 1);
    put(22, 1);
    compact(22);
    EXPECT_GT(rollups(RollupLevel::kHour).size(), 5U);
    EXPECT_EQ(counts(RollupLevel::kHour), stored_);
    EXPECT_EQ(counts(RollupLevel::kMinute), stored_);
    std::uint64_t last = 0;
    for (const Rollup& rollup : rollups(RollupLevel::kHour)) {
        EXPECT_GT(rollup.seqs.front().first.value, last);
        last = rollup.seqs.back().last.value;
    }
    store_.reset();
}

TEST_P(StoreRollups, AreMadeWhenTheHourIsOver) {
    put_all(1, 20);
    compact(20, UtcNs{std::int64_t{kBucket.value} * kHourNs});
    EXPECT_TRUE(rollups(RollupLevel::kHour).empty());
    store_ = stores_.reopen(std::move(store_));
    compact(20);
    EXPECT_EQ(rollups(RollupLevel::kHour).size(), 1U);
}

TEST_P(StoreRollups, OfTooFewOrTooVariedRowsAreLeftOut) {
    put(1);
    compact(1);
    EXPECT_EQ(written_, 0U);
    StoreOptions strict = options();
    strict.rollups->rows_per_sum = 1'000;
    TestStores stores{GetParam(), strict};
    store_ = stores.open();
    ASSERT_TRUE(store_->define(partition_in(kBucket), sample_session(kTarget, kSession)).ok());
    put_all(1, 10);
    compact(10);
    EXPECT_EQ(written_, 0U);
    EXPECT_EQ(rows_left_, 10 * kRowsABatch);
    store_.reset();
}

TEST_P(StoreRollups, GoWithTheirPartition) {
    put_all(1, 20);
    compact(20);
    EXPECT_EQ(written_, 2U);
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());
    EXPECT_TRUE(rollups(RollupLevel::kHour).empty());
    EXPECT_TRUE(rollups(RollupLevel::kMinute).empty());
    compact(20);
    EXPECT_EQ(written_, 2U);
}

TEST_P(StoreRollups, AreMadeLaterOfAStoreThatWasCompactedWithoutThem) {
    if (GetParam() != TestEngine::kRocksdb) {
        return;  // forgets everything when it is closed
    }
    auto folder = TemporaryFolder::make("perfleet-test-");
    ASSERT_TRUE(folder.ok());
    const auto open = [&](const StoreOptions& with) {
        store_.reset();
        auto opened = open_store((*folder)->path(), with);
        ASSERT_TRUE(opened.ok());
        store_ = std::move(*opened);
    };
    open({});
    ASSERT_TRUE(store_->define(partition_in(kBucket), sample_session(kTarget, kSession)).ok());
    put_all(1, 20);
    compact(20);
    EXPECT_EQ(written_, 0U);
    open(options());
    compact(20);
    EXPECT_EQ(counts(RollupLevel::kHour), stored_);
    open(options());
    compact(20);
    EXPECT_EQ(written_, 2U);
    store_.reset();
}

// A large store of before takes days to roll up; what comes meanwhile is compacted as ever.
TEST(StoreRollupsOfBefore, AreMadeWhenNothingIsLeftToCompact) {
    auto folder = TemporaryFolder::make("perfleet-test-");
    ASSERT_TRUE(folder.ok());
    auto opened = open_store((*folder)->path());
    ASSERT_TRUE(opened.ok());
    std::unique_ptr<Store> store = std::move(*opened);
    const auto fill = [&](BucketNumber bucket, std::uint64_t first) {
        ASSERT_TRUE(store->define(partition_in(bucket), sample_session(kTarget, kSession)).ok());
        for (std::uint64_t seq = first; seq < first + 3; ++seq) {
            const std::vector batches{sample_batch(Seq{seq}, std::vector<std::uint64_t>(9, 10 * seq), bucket)};
            ASSERT_TRUE(store->put(partition_in(bucket), batches).ok());
        }
        ASSERT_TRUE(store->advance_watermark(kTarget, kSession, Seq{first + 2}).ok());
    };
    const auto compact = [&] {
        std::vector<std::pair<BucketNumber, bool>> done;  // and whether it was rolled up
        EXPECT_TRUE(store
                        ->compact(kLater,
                                  [&](const CompactionStep& step) {
                                      if (step.batches_in + step.rollups != 0) {
                                          done.emplace_back(step.partition.bucket, step.rollups != 0);
                                      }
                                      return Visit::kContinue;
                                  })
                        .ok());
        return done;
    };
    const BucketNumber next{kBucket.value + 1};
    fill(kBucket, 1);
    EXPECT_EQ(compact(), (std::vector<std::pair<BucketNumber, bool>>{{kBucket, false}}));
    fill(next, 4);
    store.reset();
    StoreOptions with_rollups;
    with_rollups.rollups = RollupPolicy{.rows_min = 1, .rows_per_sum = 1, .day_hours_min = 25};
    opened = open_store((*folder)->path(), with_rollups);
    ASSERT_TRUE(opened.ok());
    store = std::move(*opened);
    EXPECT_EQ(compact(), (std::vector<std::pair<BucketNumber, bool>>{{next, false}, {next, true}, {kBucket, true}}));
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreRollups, testing::ValuesIn(test_engines()),
                         [](const auto& parameter) { return std::string{engine_name(parameter.param)}; });

}  // namespace
}  // namespace perfleet::conformance::rollup_maker_test
