// What is counted from rollups is what is counted from blocks, whatever came late, again, or in another order.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "query-engine/scan/cancellable_store.h"
#include "query-engine/scan/testing/tampered_store.h"
#include "query-engine/statistic/stack_counts.h"
#include "query-engine/statistic/testing/long_scenario.h"
#include "storage/compact/policy.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::rollup_counts_test {
namespace {

using Counted = std::map<std::tuple<std::size_t, std::uint32_t, Runner, std::uint32_t>, std::uint64_t>;

struct Answered {
    Counted counts;
    AnswerSources sources;
    Ledger ledger;
    std::vector<std::string> warnings;
};

StoreOptions rollup_options(std::uint32_t sums_max = 1U << 20) {
    StoreOptions options;
    options.rollups =
        RollupPolicy{.rows_min = 1, .rows_per_sum = 1, .sums_max = sums_max, .day_hours_min = 25};  // no days
    return options;
}

Answered answered(const StoreReader& store, Selection selection, const StackCountOptions& options, bool is_exact) {
    selection.is_exact = is_exact;
    const Result<Scan> scan = Scan::open(store, selection);
    EXPECT_TRUE(scan.ok());
    Answered answer;
    const Result<Done> visited = visit_stack_counts(*scan, options, [&](const EpochStackCounts& epoch) {
        for (const StackCount& count : epoch.counts) {
            answer.counts[{epoch.session_index, epoch.epoch.value, epoch.runners[count.runner_index],
                           count.stack.value}] += count.value;
        }
    });
    EXPECT_TRUE(visited.ok());
    answer.sources = scan->sources().read();
    for (std::size_t i = 0; i < scan->sessions().size(); ++i) {
        answer.ledger.add(scan->ledger(i, std::vector{Kind::kSample}, answer.warnings));
    }
    return answer;
}

// The same from rollups, and how much of it was.
AnswerSources expect_same(const StoreReader& store, const Selection& selection, int variant = 2) {
    const StackCountOptions options{
        .event = "cpu-clock", .sum_weights = variant % 2 == 1, .per_thread = variant % 4 >= 2};
    const Answered exact = answered(store, selection, options, true);
    const Answered quick = answered(store, selection, options, false);
    EXPECT_EQ(quick.counts, exact.counts);
    EXPECT_EQ(quick.ledger, exact.ledger);
    EXPECT_EQ(quick.warnings, exact.warnings);
    EXPECT_EQ(exact.sources.rollups, 0U);
    return quick.sources;
}

Selection between(std::optional<std::int64_t> from_ns, std::optional<std::int64_t> to_ns) {
    Selection selection;
    selection.thread_count = 2;
    selection.from = from_ns ? std::optional{UtcNs{*from_ns}} : std::nullopt;
    selection.to = to_ns ? std::optional{UtcNs{*to_ns}} : std::nullopt;
    return selection;
}

// All time, whole hours, whole minutes, and any.
std::vector<Selection> time_ranges(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    const std::int64_t start = 1'700'000'000 * kNsPerSecond / kHourNs * kHourNs;
    std::vector<Selection> ranges{between({}, {}), between(start, start + 6 * kHourNs), between(start + kHourNs, {}),
                                  between({}, start + 2 * kHourNs)};
    for (const std::int64_t step : {kHourNs, kMinuteNs, std::int64_t{1}}) {
        for (int i = 0; i < 4; ++i) {
            const auto steps = static_cast<std::uint64_t>(4 * kHourNs / step);
            const std::int64_t from = start + static_cast<std::int64_t>(random() % steps) * step;
            ranges.push_back(between(from, from + (1 + static_cast<std::int64_t>(random() % steps)) * step));
        }
    }
    return ranges;
}

TEST(RollupCounts, AreThoseOfBlocksForAnyTimeAndAnyOrderOfDelivery) {
    std::uint64_t rollups = 0;
    std::uint64_t blocks = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const ProfileScenario scenario = long_scenario(seed);
        const auto store = make_memory_store(rollup_options(seed % 2 == 0 ? 40 : 1U << 20));
        DeliveryOrder order;
        order.rows_per_batch = seed % 3 == 0 ? 4'000 : 100;
        order.order_seed = seed % 3;
        order.twice = seed % 2 == 0;
        order.compact_every = 7 + 10 * seed;
        deliver(scenario, order, *store);
        int variant = 0;
        for (const Selection& selection : time_ranges(seed)) {
            const AnswerSources used = expect_same(*store, selection, variant++);
            rollups += used.rollups;
            blocks += used.blocks;
        }
    }
    EXPECT_GT(rollups, 300U);
    EXPECT_GT(blocks, 20U);  // what came late, and edges
}

// As `diff` counts them: by slices of time.
TEST(RollupCounts, OfSlicesAreThoseOfBlocksWhereverTheyAreCut) {
    std::uint64_t minute_rollups = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto store = make_memory_store(rollup_options());
        DeliveryOrder order;
        order.rows_per_batch = 100;
        order.compact_every = 20;
        deliver(long_scenario(seed), order, *store);
        std::mt19937_64 random{seed};
        for (const std::int64_t step_ns : {kMinuteNs, std::int64_t{1}}) {
            StackCountOptions options{.event = "cpu-clock"};
            std::vector<std::uint64_t> places(5);
            std::generate(places.begin(), places.end(), random);
            options.cuts = [&](std::size_t session_index) {
                const Result<Scan> scan = Scan::open(*store, between({}, {}));
                const ClockMap& clock = scan->sessions()[session_index].clock;
                const std::int64_t start = 1'700'000'000 * kNsPerSecond / kHourNs * kHourNs;
                std::vector<Ticks> cuts;
                for (const std::uint64_t place : places) {
                    const auto steps =
                        static_cast<std::int64_t>(place % static_cast<std::uint64_t>(3 * kHourNs / step_ns));
                    cuts.push_back(clock.ticks_of(UtcNs{start + steps * step_ns}));
                }
                std::sort(cuts.begin(), cuts.end());
                return cuts;
            };
            const Answered exact = answered(*store, between({}, {}), options, true);
            const Answered quick = answered(*store, between({}, {}), options, false);
            EXPECT_EQ(quick.counts, exact.counts);
            minute_rollups += step_ns == kMinuteNs ? quick.sources.rollups : 0;
            EXPECT_TRUE(step_ns == kMinuteNs || quick.sources.rollups == 0);
        }
    }
    EXPECT_GT(minute_rollups, 5U);
}

TEST(RollupCounts, NeedNoBlockForWholeHoursAndMinutes) {
    const auto store = make_memory_store(rollup_options());
    DeliveryOrder order;
    order.rows_per_batch = 100;
    order.compact_every = 1'000'000;
    deliver(long_scenario(3), order, *store);
    const std::int64_t start = 1'700'000'000 * kNsPerSecond / kHourNs * kHourNs;
    for (const Selection& selection :
         {between({}, {}), between(start + kHourNs, start + 2 * kHourNs),
          between(start + 50 * kMinuteNs, start + 61 * kMinuteNs), between(start + 95 * kMinuteNs, {})}) {
        const AnswerSources used = expect_same(*store, selection);
        EXPECT_GT(used.rollups, 0U);
        EXPECT_EQ(used.blocks, 0U);
    }
    EXPECT_GT(expect_same(*store, between(start + 50 * kMinuteNs + kMinuteNs / 2, start + 61 * kMinuteNs)).blocks, 0U);
}

// A batch that comes after rollups were made moves the clock by seconds: cells that lie across an end are read from
// blocks.
TEST(RollupCounts, StayRightWhenTheClockIsKnownBetterLater) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const ProfileScenario scenario = long_scenario(seed);
        const auto store = make_memory_store(rollup_options());
        DeliveryOrder order;
        order.rows_per_batch = 50;
        order.compact_every = 1'000'000;
        deliver(scenario, order, *store);
        const ScenarioSession& session = scenario.sessions[seed % 3];
        SampleBatch batch{session.record.target, session.record.session, Seq{1'000'000}, EpochNumber{0},
                          BucketNumber{472'222}};
        ClockPoint point = session.record.start_point;
        point.ticks.value += kScenarioEpochTicks / 2;
        point.utc_ns.value += static_cast<std::int64_t>(kScenarioEpochTicks / 2) + 7 * kNsPerSecond;
        batch.clock_point(point);
        const auto built = batch.build();
        ASSERT_TRUE(store->put(partition_of(session.record.target, BucketNumber{472'222}), std::span{&built, 1}).ok());
        std::uint64_t rollups = 0;
        for (const Selection& selection : time_ranges(seed)) {
            rollups += expect_same(*store, selection).rollups;
        }
        EXPECT_GT(rollups, 0U);
    }
}

// Task rows that came after rollups were made, and rename a thread in the middle of a minute.
TEST(RollupCounts, FollowNamesThatBecomeKnownLater) {
    const auto store = make_memory_store(rollup_options());
    const ProfileScenario scenario = long_scenario(5);
    DeliveryOrder order;
    order.rows_per_batch = 50;
    order.compact_every = 1'000'000;
    deliver(scenario, order, *store);
    const AnswerSources before = expect_same(*store, between({}, {}));
    const ScenarioSession& session = scenario.sessions[0];
    SampleBatch batch{session.record.target, session.record.session, Seq{1'000'000}, EpochNumber{0},
                      BucketNumber{472'222}};
    batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {kScenarioEpochTicks / 2}},
                                        {ColumnId::kTaskOp, {static_cast<std::uint64_t>(TaskOp::kComm)}},
                                        {ColumnId::kPid, {100}},
                                        {ColumnId::kTid, {102}},
                                        {ColumnId::kString, {4'000}}});
    batch.add_strings({{4'000, "another"}});
    const auto built = batch.build();
    ASSERT_TRUE(store->put(partition_of(session.record.target, BucketNumber{472'222}), std::span{&built, 1}).ok());
    const AnswerSources after = expect_same(*store, between({}, {}));
    EXPECT_LT(after.rollup_rows, before.rollup_rows);
    EXPECT_GT(after.rollups, 0U);
}

// Gives rollups with a bit turned over.
class DamagedRollups : public CancellableStore {
public:
    DamagedRollups(const StoreReader& store, const std::atomic<bool>& cancelled) : CancellableStore{store, cancelled} {}

    RollupCursor rollups(const Partition& partition, TargetId target, SessionId session, Series series,
                         RollupKind kind) const override {
        return with_bit_turned(CancellableStore::rollups(partition, target, session, series, kind));
    }
};

TEST(RollupCounts, OfDamagedRollupsAreThoseOfTheirBlocksWithAWarning) {
    const auto store = make_memory_store(rollup_options());
    DeliveryOrder order;
    order.compact_every = 1'000'000;
    deliver(long_scenario(2), order, *store);
    const std::atomic<bool> cancelled{false};
    const DamagedRollups damaged{*store, cancelled};
    const StackCountOptions options{.event = "cpu-clock"};
    const Answered exact = answered(*store, between({}, {}), options, true);
    const Answered fallen_back = answered(damaged, between({}, {}), options, false);
    EXPECT_EQ(fallen_back.counts, exact.counts);
    EXPECT_EQ(fallen_back.ledger, exact.ledger);
    EXPECT_EQ(fallen_back.sources.rollups, 0U);
    EXPECT_NE(std::find_if(fallen_back.warnings.begin(), fallen_back.warnings.end(),
                           [](const std::string& warning) { return warning.find("rollup") != std::string::npos; }),
              fallen_back.warnings.end());
}

TEST(RollupCounts, OfDroppedHoursAreGone) {
    const auto store = make_memory_store(rollup_options());
    DeliveryOrder order;
    order.compact_every = 1'000'000;
    deliver(long_scenario(4), order, *store);
    const AnswerSources before = expect_same(*store, between({}, {}));
    const auto partitions = store->partitions();
    ASSERT_TRUE(partitions.ok());
    ASSERT_TRUE(store->drop(partitions->front()).ok());
    EXPECT_LT(expect_same(*store, between({}, {})).rollup_rows, before.rollup_rows);
}

}  // namespace
}  // namespace perfleet::rollup_counts_test
