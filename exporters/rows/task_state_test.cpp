#include "exporters/rows/task_state.h"

#include <gtest/gtest.h>

#include "schemas/perf/mappings_at_exec.h"

namespace perfleet {
namespace {

// The place where perf finds a byte, once the records that it needs are written; nothing if the state has no mapping of
// it.
std::optional<std::uint64_t> address_of(TaskState& tasks, std::uint32_t pid, ExportedImage image,
                                        std::uint64_t offset) {
    const auto place = tasks.place(pid, image, offset);
    return place && place->address < 0x1000'0000'0000 ? std::optional{place->address} : std::nullopt;
}

bool is_written(TaskState& tasks, std::uint32_t pid, ExportedImage image, std::uint64_t offset) {
    return tasks.place(pid, image, offset)->unwritten != nullptr;
}

TEST(TaskState, NameIsWrittenOnceAndWhenItChanges) {
    TaskState tasks;
    tasks.set_name(1, 1, "a");
    EXPECT_EQ(tasks.take_thread_records(1, 1).name, "a");
    EXPECT_FALSE(tasks.take_thread_records(1, 1).name);
    tasks.set_name(1, 1, "a");
    EXPECT_FALSE(tasks.take_thread_records(1, 1).name);
    tasks.set_name(1, 1, "b");
    tasks.exec(1, 1, "c");
    const auto records = tasks.take_thread_records(1, 1);
    EXPECT_EQ(records.name, "c");
    EXPECT_TRUE(records.is_exec);
}

// A recording of one CPU doesn't have what happened to a task on others.
TEST(TaskState, FirstNameIsOfEarlierSamplesToo) {
    TaskState tasks;
    EXPECT_FALSE(tasks.is_known_without_name(5));
    EXPECT_FALSE(tasks.take_thread_records(5, 5).name);
    EXPECT_TRUE(tasks.is_known_without_name(5));
    tasks.exec(5, 5, "cut");
    EXPECT_EQ(tasks.take_thread_records(5, 5).name, "cut");
    EXPECT_FALSE(tasks.is_known_without_name(5));
    static_cast<void>(tasks.take_thread_records(6, 6));
    tasks.exit(6, 6);
    tasks.fork(1, 1, 6, 6);
    EXPECT_FALSE(tasks.is_known_without_name(6)) << "another task of the number";
}

TEST(TaskState, ForkIsWrittenWhenPerfKnowsTheParent) {
    TaskState tasks;
    tasks.set_name(1, 1, "shell");
    tasks.fork(1, 1, 2, 2);
    const auto alone = tasks.take_thread_records(2, 2);
    EXPECT_FALSE(alone.fork);
    EXPECT_EQ(alone.name, "shell");
    static_cast<void>(tasks.take_thread_records(1, 1));
    tasks.fork(1, 1, 3, 3);
    const auto child = tasks.take_thread_records(3, 3);
    ASSERT_TRUE(child.fork);
    EXPECT_EQ(child.fork->pid, 1U);
    EXPECT_FALSE(child.name) << "a child has its parent's";
}

TEST(TaskState, ForkEndsWhatPerfKnowsOfAnEarlierTaskOfTheNumber) {
    TaskState tasks;
    tasks.set_name(2, 2, "old");
    tasks.map(2, {0x1000, 0x1000, 0, 5});
    static_cast<void>(tasks.take_thread_records(2, 2));
    EXPECT_TRUE(is_written(tasks, 2, 5, 0));
    tasks.exit(2, 2);
    tasks.fork(1, 1, 2, 2);
    const auto records = tasks.take_thread_records(2, 2);
    ASSERT_TRUE(records.fork);
    EXPECT_EQ(records.name, ":2");
    tasks.map(2, {0x1000, 0x1000, 0, 5});
    EXPECT_TRUE(is_written(tasks, 2, 5, 0));
}

TEST(TaskState, MappingIsWrittenOnceAndWhenAnotherOneStandsThere) {
    TaskState tasks;
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    EXPECT_TRUE(is_written(tasks, 1, 5, 0x10));
    EXPECT_FALSE(is_written(tasks, 1, 5, 0x20));
    tasks.map(1, {0x1800, 0x100, 0, 6});
    EXPECT_FALSE(is_written(tasks, 1, 5, 0x20)) << "what perf sees covers it";
    EXPECT_TRUE(is_written(tasks, 1, 6, 0));
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    EXPECT_TRUE(is_written(tasks, 1, 5, 0x20));
    EXPECT_FALSE(is_written(tasks, 1, 5, 0x810));
}

TEST(TaskState, ProgramAfterExecStandsInPlaceOfTheOneBefore) {
    TaskState tasks;
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    EXPECT_TRUE(is_written(tasks, 1, 5, 0));
    tasks.exec(1, 1, "b");
    EXPECT_EQ(address_of(tasks, 1, 5, 0), 0x1000) << "it has called execve";
    tasks.map(1, {0x1000, 0x1000, 0, 6});
    EXPECT_TRUE(is_written(tasks, 1, 6, 0));
    EXPECT_EQ(address_of(tasks, 1, 5, 0), std::nullopt);
}

TEST(TaskState, ForgetsManyMappingsAtAnExec) {
    TaskState tasks;
    for (std::uint64_t i = 0; i <= perf::kMappingsAtExecMax; ++i) {
        tasks.map(1, {0x1000 * (i + 1), 0x1000, 0, 5});
    }
    EXPECT_EQ(address_of(tasks, 1, 5, 0), 0x1000 * (perf::kMappingsAtExecMax + 1));
    tasks.exec(1, 1, "b");
    EXPECT_EQ(address_of(tasks, 1, 5, 0), std::nullopt);
}

TEST(TaskState, ChildInheritsWhatPerfSeesOfItsParent) {
    TaskState tasks;
    tasks.set_name(1, 1, "a");
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    tasks.map(1, {0x3000, 0x1000, 0, 6});
    static_cast<void>(tasks.take_thread_records(1, 1));
    EXPECT_TRUE(is_written(tasks, 1, 5, 0));
    tasks.fork(1, 1, 2, 2);
    static_cast<void>(tasks.take_thread_records(2, 2));
    EXPECT_FALSE(is_written(tasks, 2, 5, 0));
    EXPECT_TRUE(is_written(tasks, 2, 6, 0));
    EXPECT_TRUE(is_written(tasks, 1, 6, 0));
}

TEST(TaskState, FindsMappingsOfAddresses) {
    TaskState tasks;
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    EXPECT_NE(tasks.place(1, 0x1800).unwritten, nullptr);
    EXPECT_EQ(tasks.place(1, 0x1800).unwritten, nullptr);
    EXPECT_EQ(tasks.place(1, 0x2000).unwritten, nullptr);
    EXPECT_EQ(tasks.place(1, 0x2000).address, 0x2000U);
}

TEST(TaskState, ChildHasItsParentsMappingsUntilOthersComeThere) {
    TaskState tasks;
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    tasks.fork(1, 1, 2, 2);
    EXPECT_EQ(address_of(tasks, 2, 5, 0x10), 0x1010);
    tasks.exec(2, 2, "x");
    tasks.map(2, {0x1000, 0x1000, 0, 6});
    EXPECT_EQ(address_of(tasks, 2, 5, 0x10), std::nullopt);
    EXPECT_EQ(address_of(tasks, 1, 5, 0x10), 0x1010);
}

TEST(TaskState, ChildsMappingsAreItsOwn) {
    TaskState tasks;
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    tasks.fork(1, 1, 2, 2);
    tasks.map(2, {0x1000, 0x1000, 0, 6});
    EXPECT_EQ(address_of(tasks, 1, 5, 0), 0x1000);
    EXPECT_EQ(address_of(tasks, 2, 5, 0), std::nullopt);
    EXPECT_EQ(address_of(tasks, 2, 6, 0), 0x1000);
}

TEST(TaskState, RemembersTheLastEndedOnesOnly) {
    TaskState tasks;
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    tasks.set_name(1, 1, "first");
    tasks.exit(1, 1);
    EXPECT_EQ(address_of(tasks, 1, 5, 0), 0x1000);
    EXPECT_EQ(tasks.take_thread_records(1, 1).name, "first");
    for (std::uint32_t pid = 10; pid < 10 + kEndedTasksMax; ++pid) {
        tasks.set_name(pid, pid, "x");
        tasks.exit(pid, pid);
    }
    EXPECT_FALSE(tasks.is_known(1));
    EXPECT_EQ(tasks.take_thread_records(1, 1).name, ":1");
    EXPECT_EQ(address_of(tasks, 1, 5, 0), std::nullopt);
}

// perf finds threads by their number alone, and never forgets one.
TEST(TaskState, NumberOfAForgottenThreadIsForkedAnew) {
    TaskState tasks;
    tasks.set_name(1, 1, "first");
    static_cast<void>(tasks.take_thread_records(1, 1));
    tasks.exit(1, 1);
    tasks.forget();
    tasks.set_name(2, 2, "program");
    tasks.set_name(2, 1, "worker");
    static_cast<void>(tasks.take_thread_records(2, 2));
    const auto thread = tasks.take_thread_records(2, 1);
    ASSERT_TRUE(thread.fork);
    EXPECT_EQ(thread.fork->tid, 2U);
    EXPECT_EQ(thread.name, "worker");
    tasks.forget();
    tasks.set_name(1, 1, "again");
    const auto leader = tasks.take_thread_records(1, 1);
    ASSERT_TRUE(leader.fork) << "its number is that of a thread of process 2";
    EXPECT_EQ(leader.name, "again");
}

TEST(TaskState, NumberThatCameBackIsNotForgotten) {
    TaskState tasks;
    tasks.set_name(1, 1, "old");
    tasks.exit(1, 1);
    tasks.set_name(1, 1, "new");
    tasks.map(1, {0x1000, 0x1000, 0, 5});
    for (std::uint32_t pid = 10; pid < 10 + kEndedTasksMax; ++pid) {
        tasks.exit(pid, pid);
    }
    EXPECT_EQ(tasks.take_thread_records(1, 1).name, "new");
    EXPECT_EQ(address_of(tasks, 1, 5, 0), 0x1000);
}

TEST(TaskState, CodeBeneathAMappingOfDataIsWrittenAgain) {
    TaskState tasks;
    const ExportedMapping code{0x1000, 0x3000, 0, 5, 5};
    const ExportedMapping data{0x2000, 0x1000, 0x7000, 6, 1};
    tasks.map(1, code);
    EXPECT_TRUE(is_written(tasks, 1, 5, 0));
    tasks.fork(1, 1, 2, 2);
    tasks.map(1, data);
    EXPECT_EQ(address_of(tasks, 1, 5, 0x2000), 0x3000U);
    EXPECT_EQ(address_of(tasks, 1, 5, 0x1000), std::nullopt);
    EXPECT_EQ(address_of(tasks, 2, 5, 0x1000), 0x2000U) << "the child has a space of its own";
    EXPECT_EQ(tasks.take_unwritten_mappings(1), std::vector{data});
    tasks.map(1, code);
    EXPECT_TRUE(is_written(tasks, 1, 5, 0x1000));
}

TEST(TaskState, NamespacesAreNewsWhereTheyChangeAndOfANewThread) {
    TaskState tasks;
    EXPECT_TRUE(tasks.set_namespaces(1, 2, "4:a"));
    EXPECT_FALSE(tasks.set_namespaces(1, 2, "4:a"));
    EXPECT_TRUE(tasks.set_namespaces(1, 2, "4:b"));
    tasks.fork(1, 1, 1, 2);
    EXPECT_TRUE(tasks.set_namespaces(1, 2, "4:b"));
}

}  // namespace
}  // namespace perfleet
