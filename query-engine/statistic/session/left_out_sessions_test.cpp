// A session that a statistic can't use is left out: a warning names it, and the rows of the other one stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/testing/text_query.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/utilisation_thread.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::left_out_sessions_test {
namespace {

constexpr BucketNumber kBucket{480'000};
constexpr TargetId kTarget{17};
constexpr SessionId kGood{1, 1};
constexpr SessionId kOdd{2, 2};

std::vector<std::uint64_t> counted(std::uint64_t first, std::size_t count) {
    std::vector<std::uint64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = first + i;
    }
    return values;
}

// Batches of one session, numbered as they come.
class Delivery {
public:
    Delivery(Store& store, SessionId session, std::vector<EventRecord> events) : store_{store}, session_{session} {
        SessionRecord record = sample_session(kTarget, session);
        record.events = std::move(events);
        EXPECT_TRUE(store_.define(partition_, record).ok());
    }

    void put(Series series, const SampleIntegers& rows, const std::function<void(SampleBatch&)>& more = {}) {
        SampleBatch batch{kTarget, session_, Seq{++seq_}, EpochNumber{0}, kBucket};
        produced_[series] += rows.begin()->second.size();
        batch.add(series, rows).entry(series, CountName::kProduced, produced_[series]);
        if (more) {
            more(batch);
        }
        EXPECT_TRUE(store_.put(partition_, std::vector{batch.build()}).ok());
    }

private:
    Store& store_;
    SessionId session_;
    Partition partition_ = partition_of(kTarget, kBucket);
    std::uint64_t seq_ = 0;
    std::map<Series, std::uint64_t> produced_;
};

EventRecord event(const std::string& name, Kind kind, std::uint16_t group = 0) {
    EventRecord record;
    record.name = name;
    record.kind = kind;
    record.group = group;
    return record;
}

Answer answer_of(const std::string& command, const OptionTexts& options, const Store& store) {
    auto answer = run_text_query(command, options, store, {}, UtcNs{0});
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer.ok() ? std::move(*answer) : Answer{};
}

// `put` stores a session of either kind.
void expect_left_out(const std::string& command, const OptionTexts& options, const std::string& reason,
                     const std::function<void(Store&, SessionId, bool is_odd)>& put) {
    const std::unique_ptr<Store> store = make_memory_store();
    put(*store, kGood, false);
    const Answer alone = answer_of(command, options, *store);
    ASSERT_FALSE(alone.rows.empty());
    put(*store, kOdd, true);
    const Answer both = answer_of(command, options, *store);
    EXPECT_EQ(both.rows, alone.rows);
    EXPECT_GT(both.ledger.produced, alone.ledger.produced) << "its rows are in the ledger";
    EXPECT_TRUE(std::ranges::any_of(both.warnings, [&](const std::string& warning) {
        return warning.find(session_hex(kOdd)) != std::string::npos && warning.find(reason) != std::string::npos;
    })) << (both.warnings.empty() ? "no warning" : both.warnings.front());
}

TEST(SessionsLeftOut, OfLatencyThoseWithTooManyGroups) {
    expect_left_out("latency", {}, "more than 4096 groups of test", [](Store& store, SessionId session, bool is_odd) {
        const std::size_t count = is_odd ? 4'097 : 8;
        Delivery{store, session, {event("test", Kind::kLatency)}}.put(
            {Kind::kLatency, EventNumber{0}},
            {{ColumnId::kTime, counted(1, count)},
             {ColumnId::kTestSize, std::vector<std::uint64_t>(count, 1)},
             {ColumnId::kGroup, is_odd ? counted(0, count) : std::vector<std::uint64_t>(count, 0)},
             {ColumnId::kTest, counted(0, count)},
             {ColumnId::kValue, counted(100, count)}});
    });
}

TEST(SessionsLeftOut, OfUtilisationThoseWithTooManyThreads) {
    constexpr std::uint64_t kThreads = 65'537;
    expect_left_out("utilisation", {}, "more than 65536 threads", [](Store& store, SessionId session, bool is_odd) {
        Delivery delivery{store, session, {event("utilisation", Kind::kUtilisation)}};
        const Series series{Kind::kUtilisation, EventNumber{0}};
        delivery.put(series, {{ColumnId::kTime, {1}},
                              {ColumnId::kThread, {kWholeSystem}},
                              {ColumnId::kCycles, {1'000'000}},
                              {ColumnId::kSchedules, {9}}});
        for (std::uint64_t first = 1; first <= (is_odd ? kThreads : 3); first += limits::kBatchRowsMax) {
            const std::size_t count =
                is_odd ? std::min<std::size_t>(limits::kBatchRowsMax, kThreads + 1 - first) : std::size_t{3};
            delivery.put(series, {{ColumnId::kTime, std::vector<std::uint64_t>(count, 1)},
                                  {ColumnId::kThread, counted(first, count)},
                                  {ColumnId::kCycles, std::vector<std::uint64_t>(count, 5)}});
        }
    });
}

TEST(SessionsLeftOut, OfCounterRatiosThoseThatDidNotCountBothAtOnce) {
    const auto put = [](Store& store, SessionId session, bool is_odd) {
        Delivery delivery{store, session, {event("a", Kind::kCounter, 1), event("b", Kind::kCounter, is_odd ? 2 : 1)}};
        for (const std::uint16_t number : {std::uint16_t{0}, std::uint16_t{1}}) {
            delivery.put({Kind::kCounter, EventNumber{number}}, {{ColumnId::kTime, {10, 20}},
                                                                 {ColumnId::kCpu, {0, 0}},
                                                                 {ColumnId::kPid, {0xffff'ffff, 0xffff'ffff}},
                                                                 {ColumnId::kValue, {5, 9}},
                                                                 {ColumnId::kTimeEnabled, {10, 20}},
                                                                 {ColumnId::kTimeRunning, {10, 20}}});
        }
    };
    expect_left_out("counters", {{"ratio", "a/b"}}, "didn't count them in one group", put);
    // Where nothing is left, the query fails.
    const std::unique_ptr<Store> store = make_memory_store();
    put(*store, kOdd, true);
    EXPECT_FALSE(run_text_query("counters", {{"ratio", "a/b"}}, *store, {}, UtcNs{0}).ok());
}

TEST(SessionsLeftOut, OfPairsThoseWithTooManyTracepointRows) {
    constexpr std::uint64_t kRows = (1U << 22) + 1;
    expect_left_out(
        "latency", {{"pair", "start,stop"}}, "more than 4194304 tracepoint rows",
        [](Store& store, SessionId session, bool is_odd) {
            Delivery delivery{store, session, {event("start", Kind::kTracepoint), event("stop", Kind::kTracepoint)}};
            const std::size_t count = is_odd ? limits::kBatchRowsMax : 4;
            for (std::uint64_t rows = 0; rows < (is_odd ? kRows : 8); rows += 2 * count) {
                for (const std::uint16_t number : {std::uint16_t{0}, std::uint16_t{1}}) {
                    delivery.put(
                        {Kind::kTracepoint, EventNumber{number}},
                        {{ColumnId::kTime, counted(10 * (1 + number), count)}, {ColumnId::kTid, counted(7, count)}});
                }
            }
        });
}

// It isn't left out, its inlined functions are: their frames would be of an image beyond the most of an epoch.
TEST(SessionsLeftOut, OfInlinedFunctionsThoseWithTooManyImages) {
    const std::unique_ptr<Store> store = make_memory_store();
    const auto put = [&](SessionId session, std::uint32_t image) {
        Delivery{*store, session, {event("cpu-clock", Kind::kSample)}}.put(
            {Kind::kSample, EventNumber{0}},
            {{ColumnId::kTime, {1, 2}}, {ColumnId::kStack, {1, 2}}, {ColumnId::kWeight, {1, 1}}},
            [&](SampleBatch& batch) {
                batch.add_images({{image, 0, "build", "/bin/program"}});
                batch.add_stacks({{1, 0, image, 0x10}, {2, 1, image, 0x20}});
            });
    };
    put(kGood, 0);
    put(kOdd, limits::kImagesMax - 1);
    for (const char* command : {"top", "tree"}) {
        const Answer with = answer_of(command, {{"inlines", "yes"}}, *store);
        EXPECT_EQ(with.rows, answer_of(command, {}, *store).rows) << command;
        EXPECT_TRUE(std::ranges::any_of(with.warnings, [](const std::string& warning) {
            return warning.find(session_hex(kOdd)) != std::string::npos &&
                   warning.find("epoch 0: inlined functions and source lines make more call chains") !=
                       std::string::npos;
        })) << command;
        EXPECT_FALSE(std::ranges::any_of(with.warnings, [](const std::string& warning) {
            return warning.find(session_hex(kGood)) != std::string::npos &&
                   warning.find("inlined") != std::string::npos;
        })) << command;
    }
}

}  // namespace
}  // namespace perfleet::left_out_sessions_test
