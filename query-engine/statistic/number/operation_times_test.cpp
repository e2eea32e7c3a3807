#include "query-engine/statistic/number/operation_times.h"

#include <gtest/gtest.h>

#include <random>

namespace perfleet::operation_times_test {
namespace {

// Looks at each of them.
std::optional<std::uint32_t> naive_at(const std::vector<Operation>& operations, std::uint64_t ticks) {
    std::optional<std::uint32_t> best;
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
        const Operation& one = operations[i];
        if (ticks < one.start || ticks > one.end) {
            continue;
        }
        const bool is_better = !best || (one.is_slow != operations[*best].is_slow
                                             ? one.is_slow
                                             : one.end - one.start < operations[*best].end - operations[*best].start);
        best = is_better ? i : best;
    }
    return best;
}

TEST(OperationTimes, BothEndsBelongToTheOperation) {
    const std::vector<Operation> operations{{10, 20, false}};
    const OperationTimes times{operations};
    EXPECT_EQ(times.at(9), std::nullopt);
    EXPECT_EQ(times.at(10), 0U);
    EXPECT_EQ(times.at(20), 0U);
    EXPECT_EQ(times.at(21), std::nullopt);
    EXPECT_EQ(OperationTimes{}.at(10), std::nullopt);
}

TEST(OperationTimes, ASlowOneHasItsTimeBeforeThoseWithinIt) {
    const std::vector<Operation> operations{{10, 90, true}, {20, 30, false}, {5, 100, false}};
    const OperationTimes times{operations};
    EXPECT_EQ(times.at(25), 0U);
    EXPECT_EQ(times.at(7), 2U);
    EXPECT_EQ(times.at(95), 2U);
}

TEST(OperationTimes, OfManyIsWhatALookAtEachOfThemSays) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        std::mt19937_64 random{seed};
        std::vector<Operation> operations(random() % 40);
        for (Operation& one : operations) {
            one.start = random() % 300;
            one.end = one.start + random() % 60;
            one.is_slow = random() % 4 == 0;
        }
        const OperationTimes times{operations};
        for (std::uint64_t ticks = 0; ticks < 400; ++ticks) {
            ASSERT_EQ(times.at(ticks), naive_at(operations, ticks)) << "seed " << seed << ", ticks " << ticks;
        }
    }
}

TEST(OperationTimes, MayEndWithTheClock) {
    const std::vector<Operation> operations{{10, ~0ULL, true}};
    EXPECT_EQ(OperationTimes{operations}.at(~0ULL), 0U);
}

}  // namespace
}  // namespace perfleet::operation_times_test
