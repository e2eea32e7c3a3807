#include "storage/dictionary/thread_names.h"

#include <gtest/gtest.h>

#include "storage/store/testing/sample_batches.h"

namespace perfleet::thread_names_test {
namespace {

struct Task {
    std::uint64_t time;
    TaskOp op;
    std::uint64_t tid;
    std::uint64_t string = 0;
    std::uint64_t parent_pid = 0;
    std::uint64_t parent_tid = 0;
};

// String 1 is "one", 2 is "two".
ThreadNames names_of(const std::vector<Task>& tasks) {
    SampleBatch batch{TargetId{1}, SessionId{1, 1}, Seq{1}, EpochNumber{0}, BucketNumber{1}};
    SampleIntegers columns;
    for (const Task& task : tasks) {
        columns[ColumnId::kTime].push_back(task.time);
        columns[ColumnId::kTaskOp].push_back(static_cast<std::uint64_t>(task.op));
        columns[ColumnId::kTid].push_back(task.tid);
        columns[ColumnId::kString].push_back(task.string);
        columns[ColumnId::kParentPid].push_back(task.parent_pid);
        columns[ColumnId::kParentTid].push_back(task.parent_tid);
    }
    batch.add({Kind::kTask, kNoEvent}, columns);
    batch.add_strings({{1, "one"}, {2, "two"}});
    ThreadNames names;
    EpochDictionary dictionary;
    for (const BatchSeries& series : batch.build().series) {
        const auto block = parse_block_untrusted(series.block);
        if (series.series.kind == Kind::kTask) {
            DecodedRows rows;
            EXPECT_TRUE(rows.decode(*block).ok());
            names.add(rows);
        } else {
            EXPECT_TRUE(dictionary.add(*block).ok());
        }
    }
    names.finish(dictionary);
    return names;
}

std::string name_at(const ThreadNames& names, std::uint32_t tid, std::uint64_t ticks) {
    return names.text(names.at(tid, Ticks{ticks}).name, tid);
}

TEST(ThreadNames, HoldFromTheirTickToTheNext) {
    const ThreadNames names = names_of({{10, TaskOp::kComm, 7, 1}, {20, TaskOp::kExec, 7, 2}});
    EXPECT_EQ(name_at(names, 7, 9), ":7");
    EXPECT_EQ(name_at(names, 7, 10), "one");
    EXPECT_EQ(name_at(names, 7, 19), "one");
    EXPECT_EQ(name_at(names, 7, 20), "two");
    EXPECT_EQ(name_at(names, 7, ~0ULL), "two");
    const ThreadNames::Span span = names.at(7, Ticks{15});
    EXPECT_EQ(span.from, Ticks{10});
    EXPECT_EQ(span.until, Ticks{20});
    EXPECT_EQ(names.at(7, Ticks{3}).until, Ticks{10});
}

TEST(ThreadNames, OfAnEpochsStartHoldFromBeforeIt) {
    const ThreadNames names = names_of({{50, TaskOp::kPresent, 7, 1}, {20, TaskOp::kComm, 7, 2}});
    EXPECT_EQ(name_at(names, 7, 0), "one");
    EXPECT_EQ(name_at(names, 7, 20), "two");
    EXPECT_EQ(name_at(names, 7, 60), "two");
}

TEST(ThreadNames, NobodyNamedAThreadOrItIsTheIdleOne) {
    const ThreadNames names = names_of({{10, TaskOp::kExit, 7, 1}});
    EXPECT_EQ(name_at(names, 7, 10), ":7");
    EXPECT_EQ(name_at(names, 8, 10), ":8");
    EXPECT_EQ(name_at(names, ~0U, 10), ":-1");
    EXPECT_EQ(name_at(names, 0, 10), "swapper");
}

TEST(ThreadNames, AForkedThreadHasThatOfItsParentOrOfItsProcess) {
    const ThreadNames names = names_of({{1, TaskOp::kComm, 5, 1},
                                        {2, TaskOp::kComm, 6, 2},
                                        {10, TaskOp::kFork, 7, 0, 5, 6},
                                        {10, TaskOp::kFork, 8, 0, 5, 99},
                                        {10, TaskOp::kFork, 9, 0, 98, 99}});
    EXPECT_EQ(name_at(names, 7, 10), "two") << "its parent's";
    EXPECT_EQ(name_at(names, 8, 10), "one") << "the process's, for the thread has none";
    EXPECT_EQ(name_at(names, 9, 10), ":9");
    EXPECT_EQ(name_at(names, 7, 9), ":7");
}

TEST(ThreadNames, TheLastOfOneTickCounts) {
    const ThreadNames names =
        names_of({{10, TaskOp::kComm, 7, 1}, {10, TaskOp::kComm, 7, 2}, {30, TaskOp::kComm, 7, 2}});
    EXPECT_EQ(name_at(names, 7, 10), "two");
    EXPECT_EQ(names.at(7, Ticks{10}).until, Ticks{~0ULL}) << "the same name again is no change";
}

}  // namespace
}  // namespace perfleet::thread_names_test
