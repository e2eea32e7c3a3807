#include "exporters/perf-data/task_state.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(TaskState, NameIsNewsOnce) {
    TaskState tasks;
    EXPECT_TRUE(tasks.set_name(1, 1, "a"));
    EXPECT_FALSE(tasks.set_name(1, 1, "a"));
    EXPECT_TRUE(tasks.set_name(1, 1, "b"));
    EXPECT_TRUE(tasks.set_name(2, 1, "b"));
}

TEST(TaskState, ChildHasItsParentsMappingsUntilItExecs) {
    TaskState tasks;
    EXPECT_TRUE(tasks.map(1, {0x1000, 0x1000, 0, 5}));
    tasks.fork(1, 1, 2, 2);
    EXPECT_EQ(tasks.find(2, 5, 0x10), 0x1010);
    tasks.exec(2);
    EXPECT_EQ(tasks.find(2, 5, 0x10), std::nullopt);
    EXPECT_EQ(tasks.find(1, 5, 0x10), 0x1010);
}

TEST(TaskState, ChildsMappingsAreItsOwn) {
    TaskState tasks;
    EXPECT_TRUE(tasks.map(1, {0x1000, 0x1000, 0, 5}));
    tasks.fork(1, 1, 2, 2);
    EXPECT_TRUE(tasks.map(2, {0x1000, 0x1000, 0, 6}));
    EXPECT_EQ(tasks.find(1, 5, 0), 0x1000);
    EXPECT_EQ(tasks.find(2, 5, 0), std::nullopt);
    EXPECT_EQ(tasks.find(2, 6, 0), 0x1000);
}

TEST(TaskState, ThreadsShareTheirProcesssMappings) {
    TaskState tasks;
    tasks.fork(1, 1, 1, 7);
    EXPECT_TRUE(tasks.map(1, {0x1000, 0x1000, 0, 5}));
    EXPECT_TRUE(tasks.knows_thread(7));
    EXPECT_EQ(tasks.find(1, 5, 0), 0x1000);
}

TEST(TaskState, KnowsTheLastEndedOnesAndForgetsOlder) {
    TaskState tasks;
    EXPECT_TRUE(tasks.map(1, {0x1000, 0x1000, 0, 5}));
    EXPECT_TRUE(tasks.set_name(1, 1, "first"));
    tasks.exit(1, 1);
    EXPECT_EQ(tasks.find(1, 5, 0), 0x1000);
    for (std::uint32_t pid = 10; pid < 10 + kEndedTasksMax; ++pid) {
        EXPECT_TRUE(tasks.set_name(pid, pid, "x"));
        tasks.exit(pid, pid);
    }
    EXPECT_FALSE(tasks.knows_thread(1));
    EXPECT_EQ(tasks.find(1, 5, 0), std::nullopt);
}

TEST(TaskState, NumberThatCameBackIsNotForgotten) {
    TaskState tasks;
    EXPECT_TRUE(tasks.set_name(1, 1, "old"));
    tasks.exit(1, 1);
    EXPECT_TRUE(tasks.set_name(1, 1, "new"));
    EXPECT_TRUE(tasks.map(1, {0x1000, 0x1000, 0, 5}));
    for (std::uint32_t pid = 10; pid < 10 + kEndedTasksMax; ++pid) {
        tasks.exit(pid, pid);
    }
    EXPECT_TRUE(tasks.knows_thread(1));
    EXPECT_EQ(tasks.find(1, 5, 0), 0x1000);
}

}  // namespace
}  // namespace perfleet
