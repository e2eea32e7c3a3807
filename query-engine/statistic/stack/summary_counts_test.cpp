// Counts from summaries of days equal counts from blocks, for any time.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "query-engine/scan/testing/tampered_store.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "query-engine/statistic/testing/long_scenario.h"
#include "storage/compact/policy.h"
#include "storage/read/testing/forwarding_reader.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::summary_counts_test {
namespace {

constexpr std::uint32_t kHoursOfScenario = 35;  // of the longest session: a whole day and parts of two others
constexpr std::int64_t kDayNs = 24 * kHourNs;
constexpr std::int64_t kStartNs = 1'700'000'000 * kNsPerSecond / kHourNs * kHourNs;
constexpr std::int64_t kFirstDayNs = (kStartNs / kDayNs + 1) * kDayNs;  // the first that is whole
constexpr BucketNumber kFirstBucket{472'222};

using Chain = std::vector<std::pair<std::string, std::uint64_t>>;  // names of images, and offsets
// By session and by content: epochs have numbers of their own.
using Counted = std::map<std::tuple<std::size_t, Runner, Chain>, Sum>;

struct Answered {
    Counted counts;
    RowTotal total;
    std::uint64_t blocks = 0;  // of samples that were read
    Ledger ledger;
    std::vector<std::string> warnings;
};

// Counts the blocks of samples that it gives.
class WatchedBlocks : public ForwardingReader {
public:
    explicit WatchedBlocks(const StoreReader& store) : ForwardingReader{store} {}

    BlockCursor blocks(const Partition& partition, TargetId target, SessionId session, Series series) const override {
        return BlockCursor{
            [this, series, inner = ForwardingReader::blocks(partition, target, session, series)](Seq first) mutable {
                inner.seek(first);
                Result<BlockStep> step = inner.next();
                count_ += step.ok() && step->step == CursorStep::kItem && series.kind == Kind::kSample ? 1 : 0;
                return step;
            }};
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    mutable std::atomic<std::uint64_t> count_{0};
};

Answered answered(const StoreReader& store, Selection selection, const StackCountOptions& options,
                  bool is_exact = false) {
    const WatchedBlocks watched{store};
    selection.is_exact = is_exact;
    const Result<Scan> scan = Scan::open(watched, selection);
    EXPECT_TRUE(scan.ok());
    Answered answer;
    const Measure measure = measure_of(*scan, "cpu-clock");
    const Result<Done> visited = visit_stack_counts(*scan, measure, options, [&](const EpochStackCounts& epoch) {
        answer.total += epoch.total;
        EXPECT_TRUE(std::is_sorted(epoch.runners.begin(), epoch.runners.end()));
        for (const StackCount& count : epoch.counts) {
            std::vector<StackNumber> nodes;
            chain_of(*epoch.dictionary, count.stack, nodes);
            Chain chain;
            for (const StackNumber node : nodes) {
                const Frame& frame = epoch.dictionary->stack(node).frame;
                chain.emplace_back(node == kEmptyStack ? "" : epoch.dictionary->image(frame.image).name, frame.offset);
            }
            answer.counts[{epoch.session_index, epoch.runners[count.runner_index], chain}] += count.sum;
        }
    });
    EXPECT_TRUE(visited.ok());
    answer.blocks = watched.count();
    for (std::size_t i = 0; i < scan->sessions().size(); ++i) {
        answer.ledger.add(scan->ledger(i, std::vector{Kind::kSample}, answer.warnings));
    }
    return answer;
}

struct Used {
    std::uint64_t blocks = 0;      // that were read
    std::uint64_t all_blocks = 0;  // that hold the rows

    [[nodiscard]] std::uint64_t saved() const { return all_blocks - blocks; }
};

Used expect_same(const StoreReader& store, const Selection& selection) {
    const StackCountOptions options;
    const Answered exact = answered(store, selection, options, true);
    const Answered summed = answered(store, selection, options);
    EXPECT_TRUE(summed.counts == exact.counts);
    EXPECT_TRUE(summed.total.sum == exact.total.sum);
    EXPECT_TRUE(summed.total.weights == exact.total.weights);
    EXPECT_EQ(summed.ledger, exact.ledger);
    EXPECT_EQ(summed.warnings, exact.warnings);
    return {summed.blocks, exact.blocks};
}

Selection between(std::optional<std::int64_t> from_ns, std::optional<std::int64_t> to_ns, unsigned threads = 2) {
    Selection selection;
    selection.thread_count = threads;
    selection.from = from_ns ? std::optional{UtcNs{*from_ns}} : std::nullopt;
    selection.to = to_ns ? std::optional{UtcNs{*to_ns}} : std::nullopt;
    return selection;
}

StoreOptions with_summaries(std::uint32_t sums_max = 1U << 20) {
    StoreOptions options;
    options.summaries = SummaryPolicy{.saving = 1, .sums_max = sums_max};
    return options;
}

std::unique_ptr<Store> delivered(std::uint64_t seed, const StoreOptions& options = with_summaries(),
                                 DeliveryOrder order = {.rows_per_batch = 200, .compact_every = 1'000'000}) {
    auto store = make_memory_store(options);
    deliver(scenario_of_hours(seed, kHoursOfScenario), order, *store);
    return store;
}

TEST(SummaryCounts, AreThoseOfBlocksForAnyTimeAndAnyOrderOfDelivery) {
    std::uint64_t saved = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        DeliveryOrder order;
        order.rows_per_batch = seed == 2 ? 4'000 : 150;
        order.order_seed = seed - 1;
        order.twice = seed == 3;
        order.compact_every = seed == 1 ? 1'000'000 : 211;
        const auto store = delivered(seed, with_summaries(seed == 2 ? 2'000 : 1U << 20), order);
        std::mt19937_64 random{seed};
        std::vector<Selection> ranges{between({}, {}), between(kFirstDayNs, kFirstDayNs + kDayNs, 1),
                                      between(kFirstDayNs + kDayNs, {}), between({}, kFirstDayNs + 2 * kDayNs)};
        for (const std::int64_t step : {kDayNs, kHourNs, std::int64_t{1}}) {
            for (int i = 0; i < 3; ++i) {
                const auto steps = static_cast<std::uint64_t>(kHoursOfScenario * kHourNs / step);
                const std::int64_t from = kStartNs / step * step + static_cast<std::int64_t>(random() % steps) * step;
                ranges.push_back(between(from, from + (1 + static_cast<std::int64_t>(random() % steps)) * step));
            }
        }
        for (const Selection& selection : ranges) {
            Selection measured = selection;
            measured.counts_rows = random() % 2 == 0;
            saved += expect_same(*store, measured).saved();
        }
    }
    EXPECT_GT(saved, 300U);
}

TEST(SummaryCounts, NeedNoBlockOfDaysThatAreOver) {
    const auto store = delivered(4);
    const Used all = expect_same(*store, between({}, {}));
    EXPECT_EQ(all.blocks, 0U);
    EXPECT_EQ(all.all_blocks, 3 * kHoursOfScenario - 15);  // of sessions of 35, 30 and 25 hours
    // An hour of a day is asked for.
    EXPECT_EQ(expect_same(*store, between(kFirstDayNs, kFirstDayNs + kHourNs)).saved(), 0U);
}

TEST(SummaryCounts, OfThreadsAndSlicesComeFromBlocks) {
    const auto store = delivered(5);
    const StackCountOptions threads{.per_thread = true};
    EXPECT_EQ(answered(*store, between({}, {}), threads).blocks, 3 * kHoursOfScenario - 15);
    StackCountOptions slices;
    slices.cuts = [](std::size_t) { return std::vector<Ticks>{}; };
    EXPECT_EQ(answered(*store, between({}, {}), slices).blocks, 3 * kHoursOfScenario - 15);
}

// Puts a batch of the first session's hour into the store.
void put_late(Store& store, const ScenarioSession& session, std::uint32_t hour,
              const std::function<void(SampleBatch&)>& fill) {
    const BucketNumber bucket{kFirstBucket.value + hour};
    SampleBatch batch{session.record.target, session.record.session, Seq{1'000'000}, EpochNumber{hour}, bucket};
    fill(batch);
    const std::vector built{batch.build()};
    const Partition partition = partition_of(session.record.target, bucket);
    ASSERT_TRUE(store.define(partition, session.record).ok());
    ASSERT_TRUE(store.put(partition, built).ok());
}

TEST(SummaryCounts, TakeRowsThatCameLateFromTheirBlocks) {
    const auto store = delivered(6);
    const ScenarioSession session = scenario_of_hours(6, kHoursOfScenario).sessions[0];
    const Used before = expect_same(*store, between({}, {}));
    put_late(*store, session, 10, [&](SampleBatch& batch) {
        batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {10 * kScenarioEpochTicks + 5'000 * kStretch}},
                                                    {ColumnId::kPid, {100}},
                                                    {ColumnId::kTid, {102}},
                                                    {ColumnId::kStack, {1}},
                                                    {ColumnId::kWeight, {7}}});
    });
    EXPECT_EQ(before.blocks, 0U);
    EXPECT_EQ(expect_same(*store, between({}, {})).blocks, 2U) << "its own, and the one before, which could hold it";
}

// Either may change what rows of before mean.
TEST(SummaryCounts, AreNotUsedWhenANameOrADefinitionComesLate) {
    const ScenarioSession session = scenario_of_hours(7, kHoursOfScenario).sessions[0];
    for (const bool is_name : {true, false}) {
        const auto store = delivered(7);
        const Used before = expect_same(*store, between({}, {}));
        put_late(*store, session, 10, [&](SampleBatch& batch) {
            batch.add_strings({{4'000, "another"}});
            if (is_name) {
                batch.add({Kind::kTask, kNoEvent}, {{ColumnId::kTime, {10 * kScenarioEpochTicks + 5'000 * kStretch}},
                                                    {ColumnId::kTaskOp, {static_cast<std::uint64_t>(TaskOp::kComm)}},
                                                    {ColumnId::kPid, {100}},
                                                    {ColumnId::kTid, {102}},
                                                    {ColumnId::kString, {4'000}}});
            }
        });
        EXPECT_EQ(before.blocks, 0U);
        EXPECT_EQ(expect_same(*store, between({}, {})).blocks, 24U);  // that day's hours
    }
}

TEST(SummaryCounts, OfADayWithADroppedHourComeFromItsOtherHoursBlocks) {
    const auto store = delivered(8);
    const ScenarioSession session = scenario_of_hours(8, kHoursOfScenario).sessions[2];
    EXPECT_EQ(expect_same(*store, between({}, {})).blocks, 0U);
    ASSERT_TRUE(store->drop(partition_of(session.record.target, BucketNumber{kFirstBucket.value + 7})).ok());
    EXPECT_EQ(expect_same(*store, between({}, {})).blocks, 22U);  // of a day of 23 hours
    // The day's last hour, where the summary stands.
    ASSERT_TRUE(store->drop(partition_of(session.record.target, BucketNumber{kFirstBucket.value + 24})).ok());
    EXPECT_EQ(expect_same(*store, between({}, {})).blocks, 21U);
}

class DamagedSummaries : public ForwardingReader {
public:
    explicit DamagedSummaries(const StoreReader& store) : ForwardingReader{store} {}

    SummaryCursor summaries(const Partition& partition, TargetId target, SessionId session,
                            Series series) const override {
        return with_bit_turned(ForwardingReader::summaries(partition, target, session, series));
    }
};

TEST(SummaryCounts, OfDamagedSummariesAreThoseOfTheirBlocksWithAWarning) {
    const auto store = delivered(9);
    const DamagedSummaries damaged{*store};
    const StackCountOptions options;
    const Answered exact = answered(*store, between({}, {}), options, true);
    const Answered fallen_back = answered(damaged, between({}, {}), options);
    EXPECT_TRUE(fallen_back.counts == exact.counts);
    EXPECT_EQ(fallen_back.ledger, exact.ledger);
    EXPECT_EQ(fallen_back.blocks, exact.blocks);
    EXPECT_NE(
        std::find_if(fallen_back.warnings.begin(), fallen_back.warnings.end(),
                     [](const std::string& warning) { return warning.find("their blocks") != std::string::npos; }),
        fallen_back.warnings.end());
}

// A batch that comes after the summaries were made moves the clock by seconds: a day whose rows lie across an end of
// the time that is asked for is counted from blocks.
TEST(SummaryCounts, StayRightWhenTheClockIsKnownBetterLater) {
    const auto store = delivered(10);
    const ScenarioSession session = scenario_of_hours(10, kHoursOfScenario).sessions[0];
    put_late(*store, session, 30, [&](SampleBatch& batch) {
        ClockPoint point = session.record.start_point;
        point.ticks.value += 30 * kScenarioEpochTicks + kScenarioEpochTicks / 2;
        point.utc_ns.value +=
            static_cast<std::int64_t>(30 * kScenarioEpochTicks + kScenarioEpochTicks / 2) + 7 * kNsPerSecond;
        batch.clock_point(point);
    });
    for (const std::int64_t shift : {std::int64_t{0}, 5 * kNsPerSecond, -5 * kNsPerSecond}) {
        expect_same(*store, between(kFirstDayNs + shift, kFirstDayNs + kDayNs + shift));
        expect_same(*store, between({}, kFirstDayNs + shift));
    }
}

}  // namespace
}  // namespace perfleet::summary_counts_test
