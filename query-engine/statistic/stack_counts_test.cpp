#include "query-engine/statistic/stack_counts.h"

#include <gtest/gtest.h>

#include <tuple>

#include "query-engine/statistic/profile_story.h"

namespace perfleet::stack_counts_test {
namespace {

using Rows = std::vector<std::tuple<std::uint32_t, std::string, std::uint32_t, std::uint32_t, std::uint64_t>>;

Rows rows_of(const Scan& scan, const StackCountOptions& options) {
    Rows rows;
    const Result<Done> visited = visit_stack_counts(scan, options, [&](const EpochStackCounts& epoch) {
        for (const StackCount& count : epoch.counts) {
            const Runner& runner = epoch.runners[count.runner_index];
            rows.emplace_back(epoch.epoch.value, runner.command, runner.tid, count.stack.value, count.value);
        }
    });
    EXPECT_TRUE(visited.ok());
    return rows;
}

TEST(StackCounts, AreTheSameInArraysAndHashTables) {
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(make_story(6), {}, *store);
    Rows expected;
    for (const std::size_t size_bytes : {64U << 20U, 0U, 3U * 4'096U}) {
        for (const unsigned threads : {1U, 3U}) {
            Selection selection;
            selection.thread_count = threads;
            const Result<Scan> scan = Scan::open(*store, selection);
            ASSERT_TRUE(scan.ok());
            StackCountOptions options;
            options.event = "cpu-clock";
            options.per_thread = true;
            options.array_size_bytes_max = size_bytes;
            const Rows rows = rows_of(*scan, options);
            EXPECT_GT(rows.size(), 100U);
            expected = expected.empty() ? rows : expected;
            EXPECT_EQ(rows, expected) << size_bytes << " bytes, " << threads << " threads";
        }
    }
}

}  // namespace
}  // namespace perfleet::stack_counts_test
