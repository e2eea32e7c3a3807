#include "query-engine/statistic/stack/stack_counts.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "query-engine/statistic/testing/profile_scenario.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::stack_counts_test {
namespace {

using Rows =
    std::vector<std::tuple<std::uint32_t, std::string, std::uint32_t, std::uint32_t, std::uint64_t, std::int64_t>>;

Rows rows_of(const Scan& scan, const StackCountOptions& options) {
    Rows rows;
    const Measure measure = measure_of(scan, "cpu-clock");
    const Result<Done> visited = visit_stack_counts(scan, measure, options, [&](const EpochStackCounts& epoch) {
        RowTotal total;
        for (const StackCount& count : epoch.counts) {
            const Runner& runner = epoch.runners[count.runner_index];
            rows.emplace_back(epoch.epoch.value, runner.command, runner.tid, count.stack.value, count.sum.rows,
                              count.sum.amount);
            total.sum += count.sum;
        }
        EXPECT_EQ(epoch.total.sum, total.sum);
    });
    EXPECT_TRUE(visited.ok());
    return rows;
}

TEST(StackCounts, AreTheSameInArraysAndHashTables) {
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(make_scenario(6), {}, *store);
    Rows expected;
    for (const std::size_t size_bytes : {64U << 20U, 0U, 3U * 4'096U}) {
        for (const unsigned threads : {1U, 3U}) {
            Selection selection;
            selection.thread_count = threads;
            const Result<Scan> scan = Scan::open(*store, selection);
            ASSERT_TRUE(scan.ok());
            StackCountOptions options;
            options.per_thread = true;
            options.array_size_bytes_max = size_bytes;
            const Rows rows = rows_of(*scan, options);
            EXPECT_GT(rows.size(), 100U);
            expected = expected.empty() ? rows : expected;
            EXPECT_EQ(rows, expected) << size_bytes << " bytes, " << threads << " threads";
        }
    }
}

// Weights of a thread's samples, in two's complement.
Result<RowTotal> total_of(const std::vector<std::uint64_t>& weights, std::uint32_t array_size_bytes = 1U << 20U) {
    const std::unique_ptr<Store> store = make_memory_store();
    const BucketNumber bucket{472'222};
    const Partition partition = partition_of(TargetId{1}, bucket);
    SampleBatch batch{TargetId{1}, SessionId{1, 2}, Seq{1}, EpochNumber{0}, bucket};
    std::vector<std::uint64_t> times(weights.size());
    std::iota(times.begin(), times.end(), 1);
    batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, times}, {ColumnId::kWeight, weights}});
    EXPECT_TRUE(store->define(partition, sample_session(TargetId{1}, SessionId{1, 2})).ok());
    EXPECT_TRUE(store->put(partition, std::vector{batch.build()}).ok());
    const Result<Scan> scan = Scan::open(*store, {});
    EXPECT_TRUE(scan.ok());
    StackCountOptions options;
    options.array_size_bytes_max = array_size_bytes;
    RowTotal total;
    Sum sum;
    PERFLEET_TRY(visit_stack_counts(*scan, measure_of(*scan, "cpu-clock"), options, [&](const EpochStackCounts& epoch) {
        total += epoch.total;
        for (const StackCount& count : epoch.counts) {
            sum += count.sum;
        }
    }));
    EXPECT_TRUE(total.sum == sum);
    return total;
}

TEST(StackCounts, AmountsHaveASignAndAreExact) {
    constexpr std::uint64_t kLarge = 1ULL << 62U;
    for (const std::uint32_t array_size_bytes : {0U, 1U << 20U}) {
        const auto total = total_of({5, static_cast<std::uint64_t>(-3), kLarge, 1, 0}, array_size_bytes);
        ASSERT_TRUE(total.ok());
        EXPECT_EQ(total->sum.amount, (std::int64_t{1} << 62) + 3);
        EXPECT_EQ(total->sum.rows, 5U) << "rows of weight 0, too";
        EXPECT_TRUE(total->weights.magnitudes == Uint128{kLarge} + 9);
        const auto even = total_of({7, 7, 7}, array_size_bytes);
        ASSERT_TRUE(even.ok());
        EXPECT_EQ(even->sum.amount, 21);
        EXPECT_DOUBLE_EQ(even->effective_rows(), 3);
        EXPECT_DOUBLE_EQ(even->amount_of_effective_row(), 7);
    }
    const auto skewed = total_of({1, 1, 1, 97});
    ASSERT_TRUE(skewed.ok());
    EXPECT_DOUBLE_EQ(skewed->effective_rows(), 10'000.0 / 9'412);  // Kish's: (1 + 1 + 1 + 97)² ÷ (3 + 97²)
}

TEST(StackCounts, SumsBeyond63BitsAreRefused) {
    constexpr std::uint64_t kLarge = 1ULL << 62U;
    const std::vector<std::vector<std::uint64_t>> beyond{
        {kLarge, kLarge}, {kLarge, std::uint64_t{0} - kLarge}, {std::uint64_t{1} << 63U, 1}};
    for (const std::vector<std::uint64_t>& weights : beyond) {
        const auto total = total_of(weights);
        ASSERT_FALSE(total.ok());
        EXPECT_EQ(total.error().code, ErrorCode::kTooLarge);
        EXPECT_NE(total.error().message.find("--measure samples"), std::string::npos) << total.error().message;
    }
}

// A thread with samples at 10, 20 and 30, whose name is another one from a tick on.
class RenamedThread : public testing::Test {
protected:
    static constexpr std::int64_t kStart = 1'700'000'000'000'000'000;

    explicit RenamedThread(std::uint64_t renamed_at = 30) {
        const BucketNumber bucket = bucket_of(UtcNs{kStart});
        const Partition partition = partition_of(TargetId{1}, bucket);
        SampleBatch batch{TargetId{1}, SessionId{1, 2}, Seq{1}, EpochNumber{0}, bucket};
        batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {10, 20, 30}}, {ColumnId::kTid, {7, 7, 7}}});
        batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {5, renamed_at}},
                                            {ColumnId::kTaskOp, {1, 1}},
                                            {ColumnId::kTid, {7, 7}},
                                            {ColumnId::kString, {1, 2}}});
        batch.add_strings({{1, "before"}, {2, "after"}});
        EXPECT_TRUE(store_->define(partition, sample_session(TargetId{1}, SessionId{1, 2})).ok());
        EXPECT_TRUE(store_->put(partition, std::vector{batch.build()}).ok());
    }
    // Rows by name, from one tick to another.
    [[nodiscard]] std::map<std::string, std::uint64_t> rows_between(std::int64_t first, std::int64_t last) const {
        Selection selection;
        selection.from = UtcNs{kStart + first};
        selection.to = UtcNs{kStart + last};
        const Result<Scan> scan = Scan::open(*store_, selection);
        EXPECT_TRUE(scan.ok());
        std::map<std::string, std::uint64_t> rows;
        for (const auto& [epoch, name, tid, stack, count, amount] : rows_of(*scan, {})) {
            rows[name] += count;
        }
        return rows;
    }

    std::unique_ptr<Store> store_ = make_memory_store();
};

using ByName = std::map<std::string, std::uint64_t>;

TEST_F(RenamedThread, RowsAtTheTickOfTheNewNameHaveIt) {
    EXPECT_EQ(rows_between(0, 100), (ByName{{"before", 2}, {"after", 1}}));
}

TEST_F(RenamedThread, ARangeHasItsFirstTickAndNotItsLast) {
    EXPECT_EQ(rows_between(20, 100), (ByName{{"before", 1}, {"after", 1}}));
    EXPECT_EQ(rows_between(21, 100), (ByName{{"after", 1}}));
    EXPECT_EQ(rows_between(10, 30), (ByName{{"before", 2}}));
    EXPECT_EQ(rows_between(0, 31), (ByName{{"before", 2}, {"after", 1}}));
    EXPECT_EQ(rows_between(30, 31), (ByName{{"after", 1}}));
}

// All its rows have one name, so that they are counted together where a range has them all.
class SteadyThread : public RenamedThread {
protected:
    SteadyThread() : RenamedThread{40} {}
};

TEST_F(SteadyThread, ARangeHasItsFirstTickAndNotItsLast) {
    EXPECT_EQ(rows_between(10, 31), (ByName{{"before", 3}}));
    EXPECT_EQ(rows_between(10, 30), (ByName{{"before", 2}}));
    EXPECT_EQ(rows_between(11, 31), (ByName{{"before", 2}}));
    EXPECT_EQ(rows_between(11, 30), (ByName{{"before", 1}}));
}

}  // namespace
}  // namespace perfleet::stack_counts_test
