#include "target-collector/source/linux/event/period_jitter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <set>

#include "target-collector/source/linux/testing/recording_sink.h"
#include "target-collector/source/linux/testing/worker.h"

namespace perfleet {
namespace {

TEST(PeriodJitter, StaysWithinItsPercentAndNeverNearThePeriod) {
    PeriodJitter jitter{10, 42};
    std::uint64_t below = 0;
    std::uint64_t sum = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t period = jitter.next(1'000'000);
        const std::uint64_t off = period > 1'000'000 ? period - 1'000'000 : 1'000'000 - period;
        ASSERT_GE(off, 25'000U);
        ASSERT_LE(off, 100'001U);
        below += period < 1'000'000 ? 1 : 0;
        sum += period;
    }
    EXPECT_GT(below, 4'500U);
    EXPECT_LT(below, 5'500U);
    EXPECT_NEAR(static_cast<double>(sum) / 10'000, 1e6, 5'000);
}

TEST(PeriodJitter, OfOneSeedIsTheSameAndOfAnotherIsNot) {
    PeriodJitter first{10, 1};
    PeriodJitter again{10, 1};
    PeriodJitter other{10, 2};
    std::uint64_t equal_count = 0;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t period = first.next(1'000'000);
        EXPECT_EQ(period, again.next(1'000'000));
        equal_count += period == other.next(1'000'000) ? 1 : 0;
    }
    EXPECT_LT(equal_count, 5U);
}

TEST(PeriodJitter, LeavesFrequenciesSmallPeriodsAndTracepointsAlone) {
    EventSpec event;
    const PeriodJitter jitter{10, 1};
    EXPECT_TRUE(jitter.changes(event, {false, 1'000'000}));
    EXPECT_FALSE(jitter.changes(event, {true, 1'000'000}));
    EXPECT_FALSE(jitter.changes(event, {false, 1}));
    EXPECT_FALSE(jitter.changes(event, {false, 0}));
    event.type = perf::kTypeTracepoint;
    EXPECT_FALSE(jitter.changes(event, {false, 1'000'000}));
    EXPECT_FALSE((PeriodJitter{}.changes({}, {false, 1'000'000})));
}

// Each sample weighs the period that its event was opened with: what is short of the count is less than a period each.
TEST(PeriodJitter, WeightsSumToTheCountOfEvents) {
    Worker worker([] {
        for (int i = 0; i < 200; ++i) {
            constexpr std::size_t kBytes = 4096 * 256;
            auto* const pages =
                static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
            for (std::size_t at = 0; at < kBytes; at += 4096) {
                pages[at] = 1;
            }
            ::munmap(pages, kBytes);
        }
    });
    constexpr std::uint64_t kPeriod = 500;
    PerfSourceOptions options;
    options.events.pids = {worker.pid()};
    options.events.sampling.period = kPeriod;
    options.events.jitter = {10, 7};
    RecordingSink sink;
    const auto source = record(worker, options, "page-faults:u", sink);
    ASSERT_TRUE(source.ok()) << source.error().message;
    std::map<std::uint64_t, std::uint64_t> counted;
    for (const auto& row : sink.of(Kind::kCounter)) {
        counted[row[ColumnId::kCpu]] = row[ColumnId::kValue];
    }
    std::uint64_t count = 0;
    for (const auto& [cpu, value] : counted) {
        count += value;
    }
    std::uint64_t weight = 0;
    std::set<std::uint64_t> periods;
    for (const auto& sample : sink.of(Kind::kSample)) {
        weight += sample[ColumnId::kWeight];
        periods.insert(sample[ColumnId::kWeight]);
    }
    EXPECT_GT(count, 40'000U);
    EXPECT_LE(weight, count);
    EXPECT_GT(weight + (counted.size() * kPeriod * 11 / 10), count);
    EXPECT_FALSE(periods.contains(kPeriod));
    EXPECT_LE(periods.size(), counted.size());
}

}  // namespace
}  // namespace perfleet
