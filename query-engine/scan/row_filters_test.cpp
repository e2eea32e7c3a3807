#include "query-engine/scan/row_filters.h"

#include <gtest/gtest.h>

#include <array>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "schemas/pprof/sample_labels.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::row_filters_test {
namespace {

constexpr TargetId kTarget{5};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{472'222};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kLatencies{Kind::kLatency, kNoEvent};

TEST(RowFilters, CommonRowsAreInBoth) {
    EXPECT_EQ(common_rows({{0, 5}, {8, 10}}, {{3, 9}}), (RowRanges{{3, 5}, {8, 9}}));
    EXPECT_EQ(common_rows({{3, 9}}, {{0, 5}, {8, 10}}), (RowRanges{{3, 5}, {8, 9}}));
    EXPECT_EQ(common_rows({{0, 5}}, {{5, 9}}), RowRanges{});
    EXPECT_EQ(common_rows({{0, 5}}, {{4, 9}}), (RowRanges{{4, 5}}));
    EXPECT_EQ(common_rows({{1, 4}, {5, 6}}, {{1, 4}, {5, 6}}), (RowRanges{{1, 4}, {5, 6}}));
    EXPECT_EQ(common_rows({}, {{0, 5}}), RowRanges{});
}

struct Wanted {
    std::vector<std::string> comms{};
    RowFilter::Ranges pids{};
    RowFilter::Ranges tids{};
    RowFilter::Ranges cpus{};
    std::vector<std::string> symbols{};
};

// Samples at 10, 11, … of which each has its own stack; thread 7 is "first", from tick 12 on "second"; 8 is "eight".
class RowFiltersTest : public testing::Test {
protected:
    RowFiltersTest() {
        EXPECT_TRUE(store_->define(partition_, sample_session(kTarget, kSession)).ok());
        SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
        batch.add(kSamples, {{ColumnId::kTime, {10, 11, 12, 13, 14}},
                             {ColumnId::kPid, {3, 3, 3, 4, 4}},
                             {ColumnId::kTid, {7, 7, 7, 8, 9}},
                             {ColumnId::kCpu, {0, 1, 2, 3, 0}},
                             {ColumnId::kStack, {1, 2, 3, 4, 5}}});
        batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {1, 12, 2}},
                                            {ColumnId::kTaskOp, {1, 1, 1}},
                                            {ColumnId::kTid, {7, 7, 8}},
                                            {ColumnId::kString, {1, 2, 3}}});
        batch.add_strings({{1, "first"}, {2, "second"}, {3, "eight"}});
        batch.add_images({{1, 0, "abc", "image"}});
        batch.add_stacks({{1, 0, 1, 1}, {2, 0, 1, 2}, {3, 0, 1, 3}, {4, 0, 1, 4}, {5, 0, 1, 5}});
        batch.add(kLatencies, {{ColumnId::kTime, {10}}});
        EXPECT_TRUE(store_->put(partition_, std::vector{batch.build()}).ok());
    }

    // Times of the samples that pass.
    std::vector<std::uint64_t> passing(const Wanted& wanted, const FrameFilter& frames = {}) {
        Selection selection;
        selection.filter.comms = wanted.comms;
        selection.filter.pids = wanted.pids;
        selection.filter.tids = wanted.tids;
        selection.filter.cpus = wanted.cpus;
        selection.filter.symbols = wanted.symbols;
        Result<Scan> scan = Scan::open(*store_, selection);
        EXPECT_TRUE(scan.ok());
        if (frames) {
            scan->set_frame_filter(frames);
        }
        std::vector<std::uint64_t> times;
        RowCursor rows{*scan, 0, kSamples, std::array{ColumnId::kTime}};
        while (const RowBlock* const block = rows.next()) {
            const auto some = block->rows.integers(ColumnId::kTime);
            times.insert(times.end(), some.begin(), some.end());
        }
        EXPECT_TRUE(rows.status().ok()) << rows.status().error().message;
        return times;
    }

    Partition partition_ = partition_of(kTarget, kBucket);
    std::unique_ptr<Store> store_ = make_memory_store();
};

using Times = std::vector<std::uint64_t>;

TEST_F(RowFiltersTest, RangesOfNumbersHaveBothTheirEnds) {
    EXPECT_EQ(passing({.tids = {{7, 8}}}), (Times{10, 11, 12, 13}));
    EXPECT_EQ(passing({.tids = {{8, 8}, {9, 20}}}), (Times{13, 14}));
    EXPECT_EQ(passing({.pids = {{4, 4}}}), (Times{13, 14}));
    EXPECT_EQ(passing({.cpus = {{0, 0}, {2, 3}}}), (Times{10, 12, 13, 14}));
    EXPECT_EQ(passing({.cpus = {{4, 9}}}), Times{});
}

TEST_F(RowFiltersTest, AllFiltersHoldTogether) {
    EXPECT_EQ(passing({.pids = {{4, 4}}, .cpus = {{0, 0}}}), (Times{14}));
    EXPECT_EQ(passing({.comms = {"first"}, .cpus = {{1, 3}}}), (Times{11}));
    EXPECT_EQ(passing({.comms = {"first", "eight"}, .tids = {{8, 8}}}), (Times{13}));
}

TEST_F(RowFiltersTest, AThreadHasItsNameAtTheTimeOfTheRow) {
    EXPECT_EQ(passing({.comms = {"first"}}), (Times{10, 11}));
    EXPECT_EQ(passing({.comms = {"second", "eight"}}), (Times{12, 13}));
    EXPECT_EQ(passing({.comms = {"none"}}), Times{});
}

TEST_F(RowFiltersTest, FramesPassByTheirStacks) {
    const auto even = [](const EpochDictionary&) { return std::vector<bool>{false, false, true, false, true}; };
    EXPECT_EQ(passing({.symbols = {"any"}}, even), (Times{11, 13})) << "stack 5 is not known to the filter";
    Selection selection;
    selection.filter.images = {"image"};
    const Result<Scan> scan = Scan::open(*store_, selection);
    RowCursor rows{*scan, 0, kSamples, {}};
    EXPECT_EQ(rows.next(), nullptr);
    ASSERT_FALSE(rows.status().ok());
    EXPECT_EQ(rows.status().error().code, ErrorCode::kUsage);
}

// Samples of an imported profile at 10, 11, …; the session and rows of other kinds have none of these labels.
class TagsTest : public testing::Test {
protected:
    void store_as(std::string_view collector_version) {
        SessionRecord session = sample_session(kTarget, kSession);
        session.collector_version = collector_version;
        ASSERT_TRUE(store_->define(partition_, session).ok());
        SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
        const std::vector<std::string> labels{encode_labels({{"region", "eu", "", 0}}),
                                              encode_labels({{"region", "us", "", 0}, {"bytes", "", "bytes", 4096}}),
                                              encode_labels({{"region", "eu", "", 0}, {"bytes", "", "bytes", -1}}),
                                              encode_labels({{"region", "eu", "", 0}, {"region", "4096", "", 0}}),
                                              "not labels"};
        batch.add({Kind::kDetailedSample, EventNumber{0}},
                  {{ColumnId::kTime, {10, 11, 12, 13, 14}}, {ColumnId::kPid, {3, 3, 3, 4, 4}}},
                  {{ColumnId::kRawBytes, labels}});
        batch.add(kSamples, {{ColumnId::kTime, {20}}, {ColumnId::kPid, {3}}});
        ASSERT_TRUE(store_->put(partition_, std::vector{batch.build()}).ok());
    }
    std::vector<std::uint64_t> passing(const std::vector<RowFilter::Tag>& tags, const RowFilter::Ranges& pids = {}) {
        Selection selection;
        selection.filter.tags = tags;
        selection.filter.pids = pids;
        const Result<Scan> scan = Scan::open(*store_, selection);
        EXPECT_TRUE(scan.ok());
        std::vector<std::uint64_t> times;
        for (const Kind kind : {Kind::kDetailedSample, Kind::kSample}) {
            RowCursor rows{*scan, 0, {kind, EventNumber{0}}, std::array{ColumnId::kTime}};
            while (const RowBlock* const block = rows.next()) {
                const auto some = block->rows.integers(ColumnId::kTime);
                times.insert(times.end(), some.begin(), some.end());
            }
            EXPECT_TRUE(rows.status().ok()) << rows.status().error().message;
        }
        return times;
    }

    Partition partition_ = partition_of(kTarget, kBucket);
    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(TagsTest, TakeSamplesWithOneOfTheirValues) {
    store_as("pprof");
    EXPECT_EQ(passing({{"region", {"eu"}}}), (Times{10, 12, 13}));
    EXPECT_EQ(passing({{"region", {"us", "e?"}}}), (Times{10, 11, 12, 13}));
    EXPECT_EQ(passing({{"region", {"4096"}}}), (Times{13}));
    EXPECT_EQ(passing({{"regio", {"*"}}}), Times{});
    EXPECT_EQ(passing({}), (Times{10, 11, 12, 13, 14, 20}));
}

TEST_F(TagsTest, TakeNumbersWithOrWithoutTheirUnit) {
    store_as("pprof");
    EXPECT_EQ(passing({{"bytes", {"4096"}}}), (Times{11}));
    EXPECT_EQ(passing({{"bytes", {"4096bytes", "-1"}}}), (Times{11, 12}));
    EXPECT_EQ(passing({{"bytes", {"4096kb"}}}), Times{});
}

TEST_F(TagsTest, HoldTogetherAndWithOtherFilters) {
    store_as("pprof");
    EXPECT_EQ(passing({{"region", {"eu"}}, {"bytes", {"*"}}}), (Times{12}));
    EXPECT_EQ(passing({{"region", {"eu"}}}, {{3, 3}}), (Times{10, 12}));
}

TEST_F(TagsTest, TakeNoRawDataOfOtherCollectors) {
    store_as("perf 6.1");
    EXPECT_EQ(passing({{"region", {"*"}}}), Times{});
    EXPECT_EQ(passing({}), (Times{10, 11, 12, 13, 14, 20}));
}

TEST_F(RowFiltersTest, RowsOfNoThreadPassNoFilterOfThreads) {
    Selection selection;
    const auto count = [&] {
        const Result<Scan> scan = Scan::open(*store_, selection);
        std::uint64_t row_count = 0;
        RowCursor rows{*scan, 0, kLatencies, {}};
        while (const RowBlock* const block = rows.next()) {
            row_count += block->row_count;
        }
        EXPECT_TRUE(rows.status().ok());
        return row_count;
    };
    EXPECT_EQ(count(), 1U);
    selection.filter.pids = {{0, 100}};
    EXPECT_EQ(count(), 0U);
}

}  // namespace
}  // namespace perfleet::row_filters_test
