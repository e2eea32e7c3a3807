#include "query-engine/statistic/counters.h"

#include <gtest/gtest.h>

#include "query-engine/scan/scan.h"
#include "storage/store/sample_batches.h"

namespace perfleet::counters_test {
namespace {

constexpr std::uint64_t kWholeCpu = 0xffff'ffff;
constexpr TargetId kTarget{1};
constexpr SessionId kSession{7, 8};
constexpr BucketNumber kBucket{472'222};

struct Reading {
    std::uint64_t ticks, cpu, pid, value, enabled_ns, running_ns;
};

Answer counters_of(const std::vector<Reading>& readings, const Selection& selection = {}) {
    SampleIntegers rows;
    for (const Reading& reading : readings) {
        rows[ColumnId::kTime].push_back(reading.ticks);
        rows[ColumnId::kCpu].push_back(reading.cpu);
        rows[ColumnId::kPid].push_back(reading.pid);
        rows[ColumnId::kValue].push_back(reading.value);
        rows[ColumnId::kTimeEnabled].push_back(reading.enabled_ns);
        rows[ColumnId::kTimeRunning].push_back(reading.running_ns);
    }
    const Series series{Kind::kCounter, EventNumber{0}};
    SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    batch.add(series, rows).tally(series, TallyName::kProduced, readings.size());
    const std::vector<AdmittedBatch> batches{batch.build()};
    const std::unique_ptr<Store> store = make_memory_store();
    EXPECT_TRUE(store->define(partition_of(kTarget, kBucket), sample_session(kTarget, kSession)).ok());
    EXPECT_TRUE(store->put(partition_of(kTarget, kBucket), batches).ok());
    const Result<Scan> scan = Scan::open(*store, selection);
    EXPECT_TRUE(scan.ok());
    Result<Answer> answer = make_counters(*scan);
    EXPECT_TRUE(answer.ok());
    return std::move(answer).value();
}

// value, enabled, running, scaled.
std::vector<AnswerValue> figures(const Answer& answer) {
    EXPECT_EQ(answer.rows.size(), 1U);
    const std::vector<AnswerValue>& row = answer.rows.front();
    return {row[3], row[5], row[6], row[7]};
}

using Figures = std::vector<AnswerValue>;

TEST(Counters, AreLastMinusFirstScaledOnEachCpu) {
    const Answer answer = counters_of({{10, 0, kWholeCpu, 100, 10, 5},
                                       {10, 1, kWholeCpu, 0, 0, 0},
                                       {20, 0, kWholeCpu, 300, 110, 55},
                                       {20, 1, kWholeCpu, 50, 100, 100}});
    EXPECT_EQ(figures(answer), (Figures{250ULL, 200ULL, 150ULL, 450ULL}));
    EXPECT_EQ(answer.rows.front()[4], AnswerValue{std::string{"ns"}});
}

TEST(Counters, CpuThatNeverRanIsNotCounted) {
    const Answer answer = counters_of({{10, 0, kWholeCpu, 0, 0, 0},
                                       {10, 1, kWholeCpu, 0, 0, 0},
                                       {20, 0, kWholeCpu, 50, 100, 100},
                                       {20, 1, kWholeCpu, 0, 100, 0}});
    EXPECT_EQ(figures(answer), (Figures{50ULL, 200ULL, 100ULL, AnswerValue{}}));
    ASSERT_EQ(answer.warnings.size(), 2U);
    EXPECT_NE(answer.warnings[0].find("never ran"), std::string::npos);
}

TEST(Counters, OfAProcessScaleByWhatItRanOnAllCpus) {
    // It ran 200 ns, 120 of them on cpu 0: nothing was multiplexed.
    EXPECT_EQ(figures(counters_of(
                  {{10, 0, 42, 0, 0, 0}, {10, 1, 42, 0, 0, 0}, {20, 0, 42, 100, 200, 120}, {20, 1, 42, 50, 200, 80}})),
              (Figures{150ULL, 200ULL, 200ULL, 150ULL}));
    // Half of the time another event had the counter.
    EXPECT_EQ(figures(counters_of(
                  {{10, 0, 42, 0, 0, 0}, {10, 1, 42, 0, 0, 0}, {20, 0, 42, 100, 200, 60}, {20, 1, 42, 50, 200, 40}})),
              (Figures{150ULL, 200ULL, 100ULL, 300ULL}));
    // It was never on cpu 1.
    EXPECT_EQ(figures(counters_of(
                  {{10, 0, 42, 0, 0, 0}, {10, 1, 42, 0, 0, 0}, {20, 0, 42, 100, 200, 200}, {20, 1, 42, 0, 200, 0}})),
              (Figures{100ULL, 200ULL, 200ULL, 100ULL}));
}

TEST(Counters, GreatFiguresDoNotOverflow) {
    constexpr std::uint64_t kGreat = 1ULL << 62U;
    const Answer answer = counters_of({{10, 0, kWholeCpu, 0, 0, 0}, {20, 0, kWholeCpu, kGreat, kGreat, kGreat / 2}});
    EXPECT_EQ(figures(answer), (Figures{kGreat, kGreat, kGreat / 2, kGreat * 2}));
}

TEST(Counters, OfATimeRangeTakeTheReadingsInIt) {
    Selection selection;
    selection.from = UtcNs{1'700'000'000'000'000'020};
    selection.to = UtcNs{1'700'000'000'000'000'040};
    const Answer answer = counters_of({{10, 0, kWholeCpu, 0, 0, 0},
                                       {20, 0, kWholeCpu, 5, 10, 10},
                                       {30, 0, kWholeCpu, 9, 20, 20},
                                       {40, 0, kWholeCpu, 90, 30, 30}},
                                      selection);
    EXPECT_EQ(figures(answer), (Figures{4ULL, 10ULL, 10ULL, 4ULL}));
}

}  // namespace
}  // namespace perfleet::counters_test
