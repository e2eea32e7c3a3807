#include "storage/rollup/renames.h"

#include <gtest/gtest.h>

#include "storage/store/testing/sample_batches.h"

namespace perfleet::renames_test {
namespace {

struct Task {
    std::uint64_t time;
    TaskOp op;
    std::uint64_t tid;
};

DecodedRows rows_of(const std::vector<Task>& tasks) {
    SampleBatch batch{TargetId{1}, SessionId{1, 1}, Seq{1}, EpochNumber{0}, BucketNumber{1}};
    SampleIntegers columns;
    for (const Task& task : tasks) {
        columns[ColumnId::kTime].push_back(task.time);
        columns[ColumnId::kTaskOp].push_back(static_cast<std::uint64_t>(task.op));
        columns[ColumnId::kTid].push_back(task.tid);
    }
    batch.add({Kind::kTask, kNoEvent}, columns);
    const AdmittedBatch built = batch.build();
    DecodedRows rows;
    EXPECT_TRUE(rows.decode(*parse_block_untrusted(built.series[0].block)).ok());
    return rows;
}

using Ends = std::pair<std::uint64_t, std::uint64_t>;

Ends ends_at(const Renames& renames, std::uint32_t tid, std::uint64_t ticks) {
    const Renames::Span span = renames.at(tid, Ticks{ticks});
    return {span.from.value, span.until.value};
}

TEST(Renames, EndTheSpansOfTheirOwnThread) {
    Renames renames;
    ASSERT_TRUE(renames.add(rows_of({{30, TaskOp::kExec, 7},
                                     {10, TaskOp::kComm, 7},
                                     {20, TaskOp::kFork, 8},
                                     {10, TaskOp::kComm, 7},
                                     {15, TaskOp::kPresent, 7},
                                     {16, TaskOp::kExit, 7}})));
    renames.finish();
    EXPECT_EQ(ends_at(renames, 7, 9), (Ends{0, 10}));
    EXPECT_EQ(ends_at(renames, 7, 10), (Ends{10, 30}));
    EXPECT_EQ(ends_at(renames, 7, 29), (Ends{10, 30}));
    EXPECT_EQ(ends_at(renames, 7, 30), (Ends{30, ~0ULL}));
    EXPECT_EQ(ends_at(renames, 8, 19), (Ends{0, 20}));
    EXPECT_EQ(ends_at(renames, 8, 20), (Ends{20, ~0ULL}));
    EXPECT_EQ(ends_at(renames, 6, 50), (Ends{0, ~0ULL}));
    EXPECT_EQ(ends_at(renames, 9, 50), (Ends{0, ~0ULL}));
    EXPECT_NE(renames.at(7, Ticks{9}).number, renames.at(7, Ticks{10}).number);
    EXPECT_EQ(renames.at(7, Ticks{10}).number, renames.at(7, Ticks{29}).number);
}

TEST(Renames, AreBounded) {
    Renames renames;
    std::vector<Task> tasks(1'000, {1, TaskOp::kComm, 7});
    for (std::size_t count = 0; count < limits::kRollupRenamesMax; count += tasks.size()) {
        tasks.resize(std::min(tasks.size(), limits::kRollupRenamesMax - count));
        ASSERT_TRUE(renames.add(rows_of(tasks)));
    }
    EXPECT_TRUE(renames.add(rows_of({{1, TaskOp::kExit, 7}})));
    EXPECT_FALSE(renames.add(rows_of({{1, TaskOp::kComm, 7}})));
}

}  // namespace
}  // namespace perfleet::renames_test
