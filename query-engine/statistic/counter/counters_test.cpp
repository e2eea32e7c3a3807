#include "query-engine/statistic/counter/counters.h"

#include <gtest/gtest.h>

#include "query-engine/scan/scan.h"
#include "query-engine/select/selection.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::counters_test {
namespace {

constexpr std::uint64_t kWholeCpu = 0xffff'ffff;
constexpr TargetId kTarget{1};
constexpr SessionId kSession{7, 8};
constexpr BucketNumber kBucket{472'222};

struct Reading {
    std::uint64_t ticks, cpu, pid, value, enabled_ns, running_ns;
};

SampleIntegers columns_of(const std::vector<Reading>& readings) {
    SampleIntegers rows;
    for (const Reading& reading : readings) {
        rows[ColumnId::kTime].push_back(reading.ticks);
        rows[ColumnId::kCpu].push_back(reading.cpu);
        rows[ColumnId::kPid].push_back(reading.pid);
        rows[ColumnId::kValue].push_back(reading.value);
        rows[ColumnId::kTimeEnabled].push_back(reading.enabled_ns);
        rows[ColumnId::kTimeRunning].push_back(reading.running_ns);
    }
    return rows;
}

// A batch and an epoch each.
Answer counters_of_epochs(const std::vector<std::vector<Reading>>& epochs, const Selection& selection = {}) {
    const Series series{Kind::kCounter, EventNumber{0}};
    std::vector<AdmittedBatch> batches;
    std::uint64_t produced = 0;
    for (std::uint32_t i = 0; i < epochs.size(); ++i) {
        SampleBatch batch{kTarget, kSession, Seq{i + 1ULL}, EpochNumber{i}, kBucket};
        produced += epochs[i].size();
        batch.add(series, columns_of(epochs[i])).entry(series, CountName::kProduced, produced);
        batches.push_back(batch.build());
    }
    const std::unique_ptr<Store> store = make_memory_store();
    EXPECT_TRUE(store->define(partition_of(kTarget, kBucket), sample_session(kTarget, kSession)).ok());
    EXPECT_TRUE(store->put(partition_of(kTarget, kBucket), batches).ok());
    const Result<Scan> scan = Scan::open(*store, selection);
    EXPECT_TRUE(scan.ok());
    Result<Answer> answer = make_counters(*scan);
    EXPECT_TRUE(answer.ok());
    return std::move(answer).value();
}

Answer counters_of(const std::vector<Reading>& readings, const Selection& selection = {}) {
    return counters_of_epochs({readings}, selection);
}

UtcNs at(std::uint64_t ticks) { return UtcNs{1'700'000'000'000'000'000 + static_cast<std::int64_t>(ticks)}; }

Selection between(std::uint64_t first, std::uint64_t last) {
    Selection selection;
    selection.from = at(first);
    selection.to = at(last);
    return selection;
}

Selection part(const char* text) {
    Selection selection;
    selection.window = parse_window(text).value();
    return selection;
}

// value, enabled, running, scaled.
std::vector<AnswerValue> figures(const Answer& answer) {
    EXPECT_EQ(answer.rows.size(), 1U);
    const std::vector<AnswerValue>& row = answer.rows.front();
    return {row[3], row[5], row[6], row[7]};
}

using Figures = std::vector<AnswerValue>;

TEST(Counters, OfAPartOfASessionThatHasNothingElse) {
    const std::vector<Reading> readings{
        {10, 0, kWholeCpu, 100, 10, 10}, {60, 0, kWholeCpu, 130, 60, 60}, {110, 0, kWholeCpu, 190, 110, 110}};
    EXPECT_EQ(figures(counters_of(readings, part("0%-60%"))), figures(counters_of(readings, between(10, 70))));
    EXPECT_EQ(figures(counters_of(readings, part("70%-100%"))), figures(counters_of(readings, between(80, 111))));
}

TEST(Counters, AreTheLastReadingScaledOnEachCpu) {
    const Answer answer = counters_of({{10, 0, kWholeCpu, 100, 10, 5},
                                       {10, 1, kWholeCpu, 0, 0, 0},
                                       {20, 0, kWholeCpu, 300, 110, 55},
                                       {20, 1, kWholeCpu, 50, 100, 100}});
    EXPECT_EQ(figures(answer), (Figures{350ULL, 210ULL, 155ULL, 650ULL}));
    EXPECT_EQ(answer.rows.front()[4], AnswerValue{std::string{"ns"}});
    EXPECT_EQ(answer.rows.front()[10], AnswerValue{}) << "the whole session";
}

TEST(Counters, WhatWasCountedBeforeTheFirstReadingIsInTheTotal) {
    EXPECT_EQ(figures(counters_of({{1'000, 0, kWholeCpu, 70, 1'000, 1'000}})),
              (Figures{70ULL, 1'000ULL, 1'000ULL, 70ULL}));
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

// Its cpus' times are read one after the other, so that it may seem to have run longer than it was enabled.
TEST(Counters, NothingIsScaledDownWhereItRanLongerThanItWasEnabled) {
    EXPECT_EQ(figures(counters_of(
                  {{10, 0, 42, 0, 0, 0}, {10, 1, 42, 0, 0, 0}, {20, 0, 42, 100, 200, 120}, {20, 1, 42, 50, 202, 90}})),
              (Figures{150ULL, 210ULL, 210ULL, 150ULL}));
}

TEST(Counters, GreatFiguresDoNotOverflow) {
    constexpr std::uint64_t kGreat = 1ULL << 62U;
    const Answer answer = counters_of({{10, 0, kWholeCpu, 0, 0, 0}, {20, 0, kWholeCpu, kGreat, kGreat, kGreat / 2}});
    EXPECT_EQ(figures(answer), (Figures{kGreat, kGreat, kGreat / 2, kGreat * 2}));
}

const std::vector<std::vector<Reading>> kEpochs{
    {{10, 0, kWholeCpu, 0, 0, 0}, {20, 0, kWholeCpu, 5, 10, 10}, {30, 0, kWholeCpu, 9, 20, 20}},
    {{40, 0, kWholeCpu, 90, 30, 30}, {50, 0, kWholeCpu, 91, 40, 40}},
    {{60, 0, kWholeCpu, 100, 50, 50}}};

TEST(Counters, OfATimeRangeAreBetweenTheLastReadingsUpToItsEnds) {
    const Answer in_one_batch = counters_of_epochs(kEpochs, between(15, 35));
    EXPECT_EQ(figures(in_one_batch), (Figures{9ULL, 20ULL, 20ULL, 9ULL}));
    EXPECT_EQ(in_one_batch.columns[10].name, "covered_from");
    EXPECT_EQ(in_one_batch.rows[0][10], AnswerValue{format_time(at(10))});
    EXPECT_EQ(in_one_batch.columns[11].name, "covered_to");
    EXPECT_EQ(in_one_batch.rows[0][11], AnswerValue{format_time(at(30))});
    const Answer of_a_block_before = counters_of_epochs(kEpochs, between(35, 45));
    EXPECT_EQ(figures(of_a_block_before), (Figures{81ULL, 10ULL, 10ULL, 81ULL}));
    EXPECT_EQ(of_a_block_before.rows[0][10], AnswerValue{format_time(at(30))});
    EXPECT_EQ(figures(counters_of_epochs(kEpochs, between(20, 40))), (Figures{85ULL, 20ULL, 20ULL, 85ULL}))
        << "readings at the ends themselves";
    const Answer of_the_start = counters_of_epochs(kEpochs, between(5, 25));
    EXPECT_EQ(figures(of_the_start)[0], AnswerValue{5ULL});
    EXPECT_EQ(of_the_start.rows[0][10], AnswerValue{format_time(at(0))});
}

TEST(Counters, OfRangesThatFollowEachOtherAddUp) {
    for (std::uint64_t step = 1; step <= 70; ++step) {
        std::uint64_t sum = 0;
        for (std::uint64_t first = 0; first < 70; first += step) {
            const Answer answer = counters_of_epochs(kEpochs, between(first, first + step));
            if (!answer.rows.empty()) {
                const auto* value = std::get_if<std::uint64_t>(&answer.rows[0][3]);
                sum += value != nullptr ? *value : 0;
            }
        }
        EXPECT_EQ(sum, 100U) << step;
    }
}

TEST(Counters, OfATimeWithoutAReadingAreNotKnown) {
    const Answer answer = counters_of_epochs(kEpochs, between(21, 29));
    EXPECT_EQ(figures(answer), (Figures{{}, {}, {}, {}}));
    ASSERT_FALSE(answer.warnings.empty());
    EXPECT_NE(answer.warnings[0].find("was not read in this time"), std::string::npos) << answer.warnings[0];
    EXPECT_TRUE(counters_of_epochs(kEpochs, between(1'000, 2'000)).rows.empty()) << "the session was over";
}

// Three events, the first two of one group; rows by event.
Result<Answer> grouped_counters_of(const std::vector<std::vector<Reading>>& by_event,
                                   const CounterOptions& options = {}, const Selection& selection = {}) {
    SessionRecord session = sample_session(kTarget, kSession);
    session.events.resize(1);
    session.events.resize(3, session.events[0]);
    session.events[0].name = "a";
    session.events[1].name = "b";
    session.events[2].name = "c";
    session.events[0].group = session.events[1].group = 1;
    SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    for (std::size_t event = 0; event < by_event.size(); ++event) {
        const SampleIntegers rows = columns_of(by_event[event]);
        const Series series{Kind::kCounter, EventNumber{static_cast<std::uint16_t>(event)}};
        batch.add(series, rows).entry(series, CountName::kProduced, by_event[event].size());
    }
    const std::vector<AdmittedBatch> batches{batch.build()};
    const std::unique_ptr<Store> store = make_memory_store();
    EXPECT_TRUE(store->define(partition_of(kTarget, kBucket), session).ok());
    EXPECT_TRUE(store->put(partition_of(kTarget, kBucket), batches).ok());
    const Result<Scan> scan = Scan::open(*store, selection);
    EXPECT_TRUE(scan.ok());
    return make_counters(*scan, options);
}

// Half of the time on each of two cpus.
std::vector<Reading> readings(std::uint64_t on_first_cpu, std::uint64_t on_second_cpu, std::uint64_t ran_ns = 50) {
    return {{10, 0, kWholeCpu, 0, 0, 0},
            {10, 1, kWholeCpu, 0, 0, 0},
            {20, 0, kWholeCpu, on_first_cpu, 100, 50},
            {20, 1, kWholeCpu, on_second_cpu, 100, ran_ns}};
}

CounterOptions ratio(const std::string& text) {
    const Result<CounterOptions> options = read_texts(counter_options(), {{"ratio", text}});
    EXPECT_TRUE(options.ok()) << text;
    return options.ok() ? *options : CounterOptions{};
}

TEST(CounterRatio, StandsBesideTheEventsOfAGroupByItsLeader) {
    const Result<Answer> answer = grouped_counters_of({readings(100, 300), readings(30, 70), readings(5, 5)});
    ASSERT_TRUE(answer.ok());
    ASSERT_EQ(answer->rows.size(), 3U);
    EXPECT_EQ(answer->columns[8].name, "group");
    EXPECT_EQ(answer->columns[9].name, "per_leader");
    EXPECT_EQ(answer->rows[0][8], AnswerValue{std::uint64_t{1}});
    EXPECT_EQ(answer->rows[0][9], AnswerValue{});
    EXPECT_EQ(answer->rows[1][8], AnswerValue{std::uint64_t{1}});
    EXPECT_EQ(answer->rows[1][9], AnswerValue{0.25});
    EXPECT_EQ(answer->rows[2][8], AnswerValue{});
    EXPECT_EQ(answer->rows[2][9], AnswerValue{});
    EXPECT_EQ(answer->rows[1][7], AnswerValue{std::uint64_t{200}}) << "twice what was counted in half of the time";
}

TEST(CounterRatio, OfOneEventToAnotherIsARowASession) {
    const Result<Answer> answer =
        grouped_counters_of({readings(100, 300), readings(30, 70), readings(5, 5)}, ratio("a/b"));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    ASSERT_EQ(answer->rows.size(), 1U);
    const std::vector<AnswerValue>& row = answer->rows[0];
    EXPECT_EQ((std::vector<AnswerValue>{row.begin() + 2, row.begin() + 8}),
              (std::vector<AnswerValue>{"a", "b", 400ULL, 100ULL, 100ULL, 4.0}));
    const Result<Answer> nothing = grouped_counters_of({readings(1, 3), readings(0, 0)}, ratio("a/b"));
    ASSERT_TRUE(nothing.ok());
    EXPECT_EQ(nothing->rows[0][7], AnswerValue{});
}

TEST(CounterRatio, OfEventsOfDifferentGroupsIsRefused) {
    const std::vector<std::vector<Reading>> all{readings(100, 300), readings(30, 70), readings(5, 5)};
    for (const char* text : {"a/c", "c/a", "c/c"}) {
        const Result<Answer> answer = grouped_counters_of(all, ratio(text));
        ASSERT_FALSE(answer.ok()) << text;
        EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
        EXPECT_NE(answer.error().message.find("in one group"), std::string::npos) << answer.error().message;
        EXPECT_NE(answer.error().message.find("target-1"), std::string::npos) << answer.error().message;
    }
    EXPECT_NE(grouped_counters_of(all, ratio("a/c")).error().message.find("-e '{a,c}'"), std::string::npos);
    const Result<Answer> unknown = grouped_counters_of(all, ratio("a/d"));
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
    EXPECT_NE(unknown.error().message.find("no session"), std::string::npos);
}

TEST(CounterRatio, OfUnequalTimesIsRefused) {
    std::vector<Reading> later = readings(30, 70);
    later.back().ticks = 21;
    std::vector<Reading> fewer = readings(30, 70);
    fewer.pop_back();
    std::vector<Reading> elsewhere = readings(30, 70);
    elsewhere[1].cpu = elsewhere[3].cpu = 2;
    const std::vector<std::pair<std::vector<Reading>, std::string>> others{
        {readings(30, 70, 49), "on cpu 1 a ran for 50 ns, b for 49 ns"},
        {later, "not of the same moment"},
        {fewer, "not of the same moment"},
        {elsewhere, "on a cpu, or of a thread"},
        {{readings(30, 70)[0], readings(30, 70)[2]}, "on a cpu, or of a thread"}};
    for (const auto& [other, expected] : others) {
        const Result<Answer> refused = grouped_counters_of({readings(100, 300), other}, ratio("a/b"));
        ASSERT_FALSE(refused.ok()) << expected;
        EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
        EXPECT_NE(refused.error().message.find(expected), std::string::npos) << refused.error().message;
        const Result<Answer> table = grouped_counters_of({readings(100, 300), other});
        ASSERT_TRUE(table.ok());
        EXPECT_EQ(table->rows[1][9], AnswerValue{});
        ASSERT_FALSE(table->warnings.empty());
        EXPECT_NE(table->warnings[0].find("no ratio of b to a"), std::string::npos) << table->warnings[0];
        EXPECT_NE(table->warnings[0].find(expected), std::string::npos) << table->warnings[0];
    }
}

TEST(CounterRatio, ALeaderThatIsNotSelectedIsNotDividedBy) {
    Selection selection;
    selection.event = "b";
    const Result<Answer> answer = grouped_counters_of({readings(100, 300), readings(30, 70)}, {}, selection);
    ASSERT_TRUE(answer.ok());
    ASSERT_EQ(answer->rows.size(), 1U);
    EXPECT_EQ(answer->rows[0][9], AnswerValue{});
}

TEST(CounterRatio, IsWrittenWithASlash) {
    for (const char* text : {"", "a", "/", "a/", "/b", "a/b/c", "a,b"}) {
        const Result<CounterOptions> options = read_texts(counter_options(), {{"ratio", text}});
        ASSERT_FALSE(options.ok()) << text;
        EXPECT_EQ(options.error().code, ErrorCode::kUsage);
    }
}

}  // namespace
}  // namespace perfleet::counters_test
