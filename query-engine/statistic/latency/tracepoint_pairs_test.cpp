#include "query-engine/statistic/latency/tracepoint_pairs.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

using Entries = std::vector<TracepointEntry>;

Entries entries_of(const TracepointLog& log) { return {log.entries().begin(), log.entries().end()}; }

TEST(TracepointPairs, AStopCountsOnlyAfterItsStart) {
    TracepointLog log;
    log.stop(0, 5);
    log.start(0, 10);
    log.stop(0, 14);
    log.stop(0, 20);
    EXPECT_EQ(entries_of(log), (Entries{{0, 4}}));
}

TEST(TracepointPairs, TheLastStartCounts) {
    TracepointLog restarted;
    restarted.start(0, 10);
    restarted.start(0, 50);
    restarted.stop(0, 60);
    EXPECT_EQ(entries_of(restarted), (Entries{{0, 10}}));
    TracepointLog conditional;
    conditional.start(0, 10);
    conditional.start(0, 100);
    conditional.stop(0, 105);
    EXPECT_EQ(entries_of(conditional), (Entries{{0, 5}}));
}

TEST(TracepointPairs, OnlyWhatLiesBehindStartIsTimed) {
    constexpr std::uint64_t kBefore = 100;
    constexpr std::uint64_t kInside = 7;
    TracepointLog log;
    log.start(1, kBefore);
    log.stop(1, kBefore + kInside);
    EXPECT_EQ(entries_of(log), (Entries{{1, 7}}));
}

TEST(TracepointPairs, MayBeInterleavedAndNested) {
    TracepointLog interleaved;
    interleaved.start(0, 0);
    interleaved.start(1, 10);
    interleaved.stop(0, 30);
    interleaved.stop(1, 45);
    EXPECT_EQ(entries_of(interleaved), (Entries{{0, 30}, {1, 35}}));
    TracepointLog nested;
    nested.start(0, 0);
    nested.start(1, 10);
    nested.stop(1, 30);
    nested.stop(0, 45);
    EXPECT_EQ(entries_of(nested), (Entries{{1, 20}, {0, 45}}));
}

TEST(TracepointPairs, PartsOfAPathAddUp) {
    const std::vector<std::uint64_t> keys{2, 3};
    EXPECT_EQ(combined_paths(Entries{{2, 30}, {3, 12}}, keys), (std::vector<std::uint64_t>{42}));
    EXPECT_EQ(combined_paths(Entries{{3, 9}, {2, 30}, {7, 1}, {2, 31}, {3, 1}}, keys),
              (std::vector<std::uint64_t>{30, 32}));
}

TEST(TracepointPairs, OnlyThoseOfTheThreadBetweenBeginAndEndLieWithin) {
    std::vector<TimedPair> pairs{
        {1, 0, 5, false},     // before the first outer one
        {1, 10, 20, true},    //
        {1, 11, 13, false},   // within, and one in it
        {1, 12, 13, false},   //
        {2, 14, 15, false},   // of another thread
        {1, 18, 25, false},   // interleaved
        {1, 30, 31, false},   // between the two outer ones
        {1, 40, 90, true},    // has an outer one within
        {1, 50, 60, true},    //
        {1, 50, 60, false},   // of the same times
        {1, 70, 70, false},   //
        {1, 35, 95, false},   // around
        {2, 100, 110, true},  //
        {3, 1, 2, false},
    };
    EXPECT_EQ(pairs_within(pairs), (std::vector<std::uint64_t>{2, 1, 2, 0}));
    std::vector<TimedPair> none;
    EXPECT_TRUE(pairs_within(none).empty());
}

TEST(TracepointPairs, OverheadIsThatOfNestedEmptyPairs) {
    EXPECT_NEAR(static_cast<double>(corrected(2'000, {208.69L, 550.33L}, 2)), 690.65, 1e-9);
}

}  // namespace
}  // namespace perfleet
