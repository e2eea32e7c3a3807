// Conformance of engines: summaries of days that compact() makes.
#include <algorithm>

#include "storage/store/testing/conformance.h"
#include "storage/store/testing/visit_blocks.h"
#include "storage/summary/day_summary.h"

namespace perfleet::conformance::summary_maker_test {
namespace {

constexpr std::int64_t kHourNs = kBucketDurationS * kNsPerSecond;
static_assert(kBucket.value % kHoursPerDay == 0);
constexpr UtcNs kNextDay{(std::int64_t{kBucket.value} + kHoursPerDay) * kHourNs};
constexpr UtcNs kLater{kNextDay.value + kHourNs};
constexpr std::uint64_t kRowsABatch = 40;
constexpr std::uint64_t kBatchesAnHour = 4;

class StoreDays : public testing::TestWithParam<TestEngine> {
protected:
    void SetUp() override {
        store_ = stores_.open();
        ASSERT_NE(store_, nullptr);
    }

    static BucketNumber bucket_of(std::uint32_t hour) { return BucketNumber{kBucket.value + hour}; }

    // Definitions, names of threads, and rows of three chains.
    void put_hour(std::uint32_t hour) {
        ASSERT_TRUE(store_->define(partition_in(bucket_of(hour)), sample_session(kTarget, kSession)).ok());
        for (std::uint64_t i = 0; i < kBatchesAnHour; ++i) {
            const std::uint64_t seq = hour * kBatchesAnHour + i + 1;
            SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{hour}, bucket_of(hour)};
            SampleIntegers rows;
            for (std::uint64_t row = 0; row < kRowsABatch; ++row) {
                rows[ColumnId::kTime].push_back(ticks_of(hour) + seq * 1'000'000 + row);
                rows[ColumnId::kTid].push_back(5);
                rows[ColumnId::kStack].push_back(row % 3);
                rows[ColumnId::kWeight].push_back(1);
            }
            batch.add(kSamples, rows);
            if (i == 0) {
                batch.add_strings({{1, "sh"}}).add_images({{0, 0, "build-id", "/bin/sh"}});
                const std::uint32_t moved = moved_ * hour;
                batch.add_stacks({{1, 0, 0, moved + 0x10U + hour % 2}, {2, 0, 0, moved + 0x11U - hour % 2}});
                batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {ticks_of(hour)}},
                                                    {ColumnId::kTaskOp, {static_cast<std::uint64_t>(TaskOp::kPresent)}},
                                                    {ColumnId::kTid, {5}},
                                                    {ColumnId::kString, {1}}});
            }
            const std::vector built{batch.build()};
            ASSERT_TRUE(store_->put(partition_in(bucket_of(hour)), built).ok());
            last_seq_ = std::max(last_seq_, seq);
        }
    }

    void put_hours(std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t hour = first; hour <= last; ++hour) {
            put_hour(hour);
        }
    }

    void compact(UtcNs now = kLater) {
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{last_seq_}).ok());
        const auto compacted = store_->compact(now, [&](const CompactionStep& step) {
            written_ += step.summaries;
            return Visit::kContinue;
        });
        ASSERT_TRUE(compacted.ok()) << compacted.error().message;
    }

    [[nodiscard]] std::vector<DaySummary> days(std::uint32_t hour) const {
        std::vector<DaySummary> found;
        const auto on_summary = [&](const SummaryKey& key, std::string_view bytes) {
            auto day = decode_summary_untrusted(bytes);
            EXPECT_TRUE(day.ok()) << day.error().message;
            EXPECT_EQ(key.first_seq, day->hours.front().rows.seqs.front().first);
            found.push_back(std::move(*day));
            return Visit::kContinue;
        };
        EXPECT_TRUE(
            visit_summaries(*store_, partition_in(bucket_of(hour)), kTarget, kSession, kSamples, on_summary).ok());
        return found;
    }

    static StoreOptions options(const SummaryPolicy& policy = {}) {
        StoreOptions options;
        options.summaries = policy;
        return options;
    }

    TestStores stores_{GetParam(), options()};
    std::unique_ptr<Store> store_;
    std::uint64_t last_seq_ = 0;
    std::uint64_t written_ = 0;
    std::uint32_t moved_ = 0;  // by each hour, the frames of its chains

private:
    static std::uint64_t ticks_of(std::uint32_t hour) {
        return (std::uint64_t{kBucket.value} + hour) * kHourNs - 1'700'000'000'000'000'000ULL;
    }
};

TEST_P(StoreDays, SumTheirHoursWhenTheDayIsOver) {
    put_hours(3, 7);
    compact(UtcNs{kNextDay.value});
    EXPECT_TRUE(days(7).empty());
    const std::uint64_t before = written_;
    compact();
    EXPECT_EQ(written_, before + 1);
    ASSERT_EQ(days(7).size(), 1U);
    const DaySummary day = days(7)[0];
    EXPECT_EQ(day.hours.size(), 5U);
    EXPECT_EQ(day.row_count, 5 * kBatchesAnHour * kRowsABatch);
    EXPECT_EQ(day.nodes, (std::vector<DaySummary::Node>{{0, 0, 0x10}, {0, 0, 0x11}}));
    ASSERT_EQ(day.names.size(), 1U);
    EXPECT_EQ(day.names[0].text, "sh");
    EXPECT_EQ(day.sums[0].row_count, 5 * kBatchesAnHour * 14);  // chains without frames
    EXPECT_EQ(day.sums[1].row_count, kBatchesAnHour * (3 * 13 + 2 * 13));
    compact(UtcNs{kLater.value + 10 * kHourNs});
    EXPECT_EQ(written_, before + 1);
    EXPECT_EQ(store_->partitions_to_compact(), 0U);
}

TEST_P(StoreDays, AreMadeAfterAStartAndNotAgainAfterTheNext) {
    put_hours(0, 3);
    compact(UtcNs{kNextDay.value});
    EXPECT_TRUE(days(3).empty());
    store_ = stores_.reopen(std::move(store_));
    compact();
    ASSERT_EQ(days(3).size(), 1U);
    const std::uint64_t before = written_;
    store_ = stores_.reopen(std::move(store_));
    compact(UtcNs{kLater.value + 10 * kHourNs});
    EXPECT_EQ(written_, before);
    EXPECT_EQ(days(3).size(), 1U);
}

TEST_P(StoreDays, NameTheBatchesOfEachHour) {
    put_hours(0, 5);
    compact();
    ASSERT_EQ(days(5).size(), 1U);
    EXPECT_EQ(days(5)[0].hours[2].rows.seqs, (std::vector<SeqRange>{{Seq{9}, Seq{12}}}));
    EXPECT_EQ(days(5)[0].hours[2].rows.row_count, kBatchesAnHour * kRowsABatch);
    EXPECT_EQ(written_, 1U);
}

TEST_P(StoreDays, AreMadeAnewInALaterHourThatComesLate) {
    put_hours(0, 3);
    compact();
    EXPECT_EQ(days(3).size(), 1U);
    put_hour(8);
    compact(UtcNs{kLater.value + 10 * kHourNs});
    ASSERT_EQ(days(8).size(), 1U);
    EXPECT_EQ(days(8)[0].hours.size(), 5U);
}

TEST_P(StoreDays, AreNotMadeOfOneHourNorWhereTheyWouldSaveLittle) {
    put_hour(0);
    put_hour(kHoursPerDay);
    compact(UtcNs{kLater.value + 24 * kHourNs});
    EXPECT_TRUE(days(0).empty());
    EXPECT_TRUE(days(kHoursPerDay).empty());
    TestStores stores{GetParam(), options({.saving = 6})};
    store_ = stores.open();
    put_hours(0, 4);  // five times the sums
    compact();
    EXPECT_TRUE(days(4).empty());
    store_.reset();
}

TEST_P(StoreDays, AreMadeOfWholeDaysWhereTheyNeedAllHours) {
    TestStores stores{GetParam(), options({.hours_min = kHoursPerDay})};
    store_ = stores.open();
    put_hours(1, kHoursPerDay + 23);  // of the first day all but an hour
    compact(UtcNs{kLater.value + kHoursPerDay * kHourNs});
    EXPECT_TRUE(days(23).empty());
    ASSERT_EQ(days(kHoursPerDay + 23).size(), 1U);
    EXPECT_EQ(days(kHoursPerDay + 23)[0].hours.size(), 24U);
    store_.reset();
}

// Its definitions contradict each other.
TEST_P(StoreDays, LeaveOutAnHourThatCantBeUnderstood) {
    put_hours(0, 4);
    SampleBatch batch{kTarget, kSession, Seq{++last_seq_}, EpochNumber{2}, bucket_of(2)};
    batch.add_images({{0, 0, "another", "/bin/another"}});
    const std::vector built{batch.build()};
    ASSERT_TRUE(store_->put(partition_in(bucket_of(2)), built).ok());
    compact();
    const std::vector<DaySummary> found = days(4);
    ASSERT_EQ(found.size(), 1U);
    std::vector<BucketNumber> hours;
    for (const DayHour& hour : found[0].hours) {
        hours.push_back(hour.partition.bucket);
    }
    EXPECT_EQ(hours, (std::vector{bucket_of(0), bucket_of(1), bucket_of(3), bucket_of(4)}));
}

TEST_P(StoreDays, ReportNothingMoreOnceTheyAreStopped) {
    if (GetParam() != TestEngine::kMemory) {
        return;  // many stores, and the engine has no part in it
    }
    moved_ = 2;
    for (int allowed = 0;; ++allowed) {
        TestStores stores{GetParam(), options({.saving = 1, .sums_max = 8})};
        store_ = stores.open();
        put_hours(0, 4);
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{last_seq_}).ok());
        int step_count = 0;
        ASSERT_TRUE(store_
                        ->compact(kLater,
                                  [&](const CompactionStep&) {
                                      return step_count++ < allowed ? Visit::kContinue : Visit::kStop;
                                  })
                        .ok());
        store_.reset();
        ASSERT_LE(step_count, allowed + 1);
        if (step_count <= allowed) {
            break;
        }
    }
}

TEST_P(StoreDays, AreSplitWhereOneWouldHaveTooManySums) {
    moved_ = 2;
    TestStores stores{GetParam(), options({.saving = 1, .sums_max = 8})};
    store_ = stores.open();
    put_hours(0, 9);
    compact();
    std::vector<std::size_t> hours;
    std::uint64_t row_count = 0;
    for (const DaySummary& day : days(9)) {
        hours.push_back(day.hours.size());
        row_count += day.row_count;
    }
    EXPECT_EQ(hours, (std::vector<std::size_t>{4, 4, 2})) << "two sums more by each hour";
    EXPECT_EQ(row_count, 10 * kBatchesAnHour * kRowsABatch);
    store_.reset();
}

TEST_P(StoreDays, GoWithTheirLastHour) {
    put_hours(0, 3);
    compact();
    EXPECT_EQ(days(3).size(), 1U);
    ASSERT_TRUE(store_->drop(partition_in(bucket_of(3))).ok());
    EXPECT_TRUE(days(3).empty());
    const std::uint64_t before = written_;
    compact(UtcNs{kLater.value + 10 * kHourNs});
    EXPECT_EQ(written_, before);
}

// Interrupted work is continued; nothing is made twice.
TEST_P(StoreDays, AreMadeThoughTheWorkIsStoppedAtEveryStep) {
    put_hours(0, 5);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{last_seq_}).ok());
    std::uint64_t day_count = 0;
    for (int allowed = 0; allowed < 60; ++allowed) {
        int step_count = 0;
        ASSERT_TRUE(store_
                        ->compact(kLater,
                                  [&](const CompactionStep& step) {
                                      day_count += step.summaries;
                                      return step_count++ < allowed ? Visit::kContinue : Visit::kStop;
                                  })
                        .ok());
    }
    EXPECT_EQ(day_count, 1U);
    EXPECT_EQ(days(5).size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreDays, testing::ValuesIn(test_engines()),
                         [](const auto& parameter) { return std::string{engine_name(parameter.param)}; });

}  // namespace
}  // namespace perfleet::conformance::summary_maker_test
