// Counts by dictionaries of partitions equal counts by the definitions of each session, byte for byte, with late,
// repeated or damaged data.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "query-engine/statistic/stack/stack_counts.h"
#include "query-engine/statistic/testing/long_scenario.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/compact/policy.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/limits/store_limits.h"
#include "storage/read/testing/forwarding_reader.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::dictionary_counts_test {
namespace {

constexpr std::uint64_t kSessions = 12;

// Sessions of targets of one shard: each runs what the others run, under numbers of its own.
ProfileScenario fleet_scenario(std::uint64_t seed) {
    ProfileScenario fleet = make_scenario(seed);
    const std::vector<ScenarioSession> sessions = std::move(fleet.sessions);
    fleet.sessions.clear();
    for (std::uint64_t i = 0; i < kSessions; ++i) {
        ScenarioSession session = sessions[i % sessions.size()];
        if (i >= sessions.size()) {
            session = make_scenario(seed + 100 * i).sessions[i % sessions.size()];
        }
        const SessionRecord before = session.record;
        session.record = sample_session(TargetId{3 + i / 2 * limits::kShardsDefault}, SessionId{0xfee0 + i, i + 1});
        session.record.start_point = before.start_point;
        fleet.sessions.push_back(std::move(session));
    }
    return fleet;
}

StoreOptions dictionary_options(bool with_summaries, std::uint32_t nodes_max = limits::kDictionaryNodesMax) {
    StoreOptions options;
    options.dictionaries = DictionaryPolicy{.epochs_min = 2, .reuse = 1, .nodes_max = nodes_max};
    if (with_summaries) {
        options.summaries = SummaryPolicy{.hours_min = 3};
    }
    return options;
}

// What a query reads of a store; and what it makes of dictionaries and maps that somebody has had his hands on.
class WatchedStore : public ForwardingReader {
public:
    enum class Tampering : std::uint8_t {
        kNone,
        kNoDictionary,
        kDamagedDictionary,
        kNoMaps,
        kDamagedMaps,
        kMapsOfAnother
    };

    explicit WatchedStore(const StoreReader& store, Tampering tampering = Tampering::kNone)
        : ForwardingReader{store}, tampering_{tampering} {}

    Result<std::optional<std::string>> dictionary(const Partition& partition) const override {
        auto bytes = ForwardingReader::dictionary(partition);
        if (tampering_ == Tampering::kNoDictionary) {
            return std::optional<std::string>{};
        }
        if (tampering_ == Tampering::kDamagedDictionary && bytes.ok() && bytes->has_value()) {
            (**bytes)[(*bytes)->size() / 2] ^= 1;
        }
        return bytes;
    }
    Result<std::optional<std::string>> stack_map(const StackMapKey& key) const override {
        auto bytes = ForwardingReader::stack_map(key);
        const bool is_wanted = key.target.value % 3 == 0;
        if (tampering_ == Tampering::kNoMaps && is_wanted) {
            return std::optional<std::string>{};
        }
        if (tampering_ == Tampering::kDamagedMaps && is_wanted && bytes.ok() && bytes->has_value()) {
            (**bytes)[(*bytes)->size() / 2] ^= 1;
        }
        if (tampering_ == Tampering::kMapsOfAnother && bytes.ok() && bytes->has_value()) {
            auto map = decode_stack_map_untrusted(**bytes);
            EXPECT_TRUE(map.ok());
            map->dictionary_checksum ^= 1U;
            return std::optional{encode_stack_map(*map)};
        }
        return bytes;
    }
    BlockCursor blocks(const Partition& partition, TargetId target, SessionId session, Series series) const override {
        stack_visits_ += series.kind == Kind::kStack ? 1 : 0;
        return ForwardingReader::blocks(partition, target, session, series);
    }

    [[nodiscard]] int stack_visits() const { return stack_visits_; }

private:
    Tampering tampering_;
    mutable std::atomic<int> stack_visits_{0};
};

struct Asked {
    std::string command;
    OptionTexts options;
};

const std::vector<Asked>& questions() {
    static const std::vector<Asked> kAll{
        {"top", {{"addresses", "yes"}}},
        {"top", {}},
        {"top", {{"by", "thread"}}},
        {"top", {{"by", "symbol,target,rack"}}},
        {"series", {{"by", "target"}}},
        {"top", {{"by", "image,command"}, {"measure", "samples"}}},
        {"top", {{"event", "sched:sched_switch"}, {"limit", "7"}}},
        {"top", {{"from", "2023-11-14T22:40:20Z"}, {"to", "2023-11-15T00:01:00Z"}}},
        {"top", {{"select", "{target=~\"target-.*3\"}"}}},
        {"tree", {}},
        {"tree", {{"event", "sched:sched_switch"}, {"measure", "samples"}, {"min-percent", "0.5"}}},
        {"diff", {{"before", "{target=\"target-3\"}"}, {"after", "{target=\"target-19\"}"}, {"of", "profile"}}},
    };
    return kAll;
}

std::string dump(const Answer& answer) {
    std::string text;
    for (const auto& row : answer.rows) {
        for (const AnswerValue& value : row) {
            if (const auto* number = std::get_if<std::uint64_t>(&value)) {
                text += std::to_string(*number);
            } else if (const auto* part = std::get_if<double>(&value)) {
                text += std::to_string(*part);
            } else if (const auto* name = std::get_if<std::string>(&value)) {
                text += *name;
            }
            text += '\t';
        }
        text += '\n';
    }
    text += std::to_string(answer.ledger.stored) + " of " + std::to_string(answer.ledger.produced) + '\n';
    return text;
}

struct Given {
    std::vector<std::string> answers;
    std::vector<std::string> warnings;
};

Given answers_of(const StoreReader& store, bool is_exact, const std::string& threads = "2") {
    Given given;
    for (auto [command, options] : questions()) {
        options["threads"] = threads;
        if (is_exact) {
            options["exact"] = "yes";
        }
        const Result<Answer> answer = run_text_query(command, options, store, {}, UtcNs{0});
        EXPECT_TRUE(answer.ok()) << command << ": " << (answer.ok() ? "" : answer.error().message);
        if (answer.ok()) {
            EXPECT_FALSE(answer->rows.empty()) << command;
            given.answers.push_back(command + '\n' + dump(*answer));
            given.warnings.insert(given.warnings.end(), answer->warnings.begin(), answer->warnings.end());
        }
    }
    return given;
}

// How many epochs' call chains were read from their definitions, by `top` of everything.
int stack_visits_of_top(const StoreReader& store, WatchedStore::Tampering tampering = WatchedStore::Tampering::kNone) {
    const WatchedStore watched{store, tampering};
    EXPECT_TRUE(run_text_query("top", {}, watched, {}, UtcNs{0}).ok());
    return watched.stack_visits();
}

void expect_same(const StoreReader& store) {
    const Given exact = answers_of(store, true);
    for (const char* threads : {"1", "3"}) {
        const Given quick = answers_of(store, false, threads);
        EXPECT_EQ(quick.answers, exact.answers);
        EXPECT_EQ(quick.warnings, exact.warnings);
    }
}

std::unique_ptr<Store> delivered(const ProfileScenario& scenario, const StoreOptions& options, DeliveryOrder order) {
    std::unique_ptr<Store> store = make_memory_store(options);
    order.compact_every = order.compact_every == 0 ? ~std::size_t{0} : order.compact_every;
    deliver(scenario, order, *store);
    return store;
}

TEST(DictionaryCounts, AreThoseOfDefinitionsForAnyOrderOfDelivery) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const ProfileScenario scenario = fleet_scenario(seed);
        for (const bool with_summaries : {false, true}) {
            SCOPED_TRACE(std::to_string(seed) + (with_summaries ? " with summaries" : ""));
            const auto store = delivered(scenario, dictionary_options(with_summaries),
                                         DeliveryOrder{60, seed - 1, seed == 2, seed == 3 ? 40U : 0U});
            expect_same(*store);
            EXPECT_EQ(stack_visits_of_top(*store), 0);
        }
    }
}

TEST(DictionaryCounts, AreThoseOfAStoreWithoutDictionaries) {
    const ProfileScenario scenario = fleet_scenario(7);
    const auto with = delivered(scenario, dictionary_options(false), DeliveryOrder{60});
    const auto without = delivered(scenario, {}, DeliveryOrder{60});
    EXPECT_EQ(answers_of(*with, false).answers, answers_of(*without, false).answers);
    EXPECT_GT(stack_visits_of_top(*without), 0);
}

// Of epochs together, so that chains are named once.
TEST(DictionaryCounts, AreToldOnceAPartition) {
    const auto store = delivered(fleet_scenario(5), dictionary_options(false), DeliveryOrder{60});
    const Result<Scan> scan = Scan::open(*store, {});
    ASSERT_TRUE(scan.ok());
    std::size_t partition_count = store->partitions()->size();
    const Measure measure = measure_of(*scan, "cpu-clock");
    ASSERT_TRUE(visit_stack_counts(*scan, measure, {}, [&](const EpochStackCounts&) { --partition_count; }).ok());
    EXPECT_EQ(partition_count, 0U);
}

TEST(DictionaryCounts, StayRightForSessionsThatHaveNoRoom) {
    const ProfileScenario scenario = fleet_scenario(4);
    for (const std::uint32_t nodes_max : {40U, 200U, 1'000U, 1'300U}) {
        const auto store = delivered(scenario, dictionary_options(false, nodes_max), DeliveryOrder{60});
        expect_same(*store);
    }
}

constexpr BucketNumber kFirstBucket{472'222};

// A late batch of the session's first epoch.
void put_late(Store& store, const ScenarioSession& session, std::uint64_t seq, const std::vector<std::uint64_t>& stacks,
              const std::vector<SampleBatch::Stack>& definitions) {
    SampleBatch batch{session.record.target, session.record.session, Seq{seq}, EpochNumber{0}, kFirstBucket};
    batch.add({Kind::kSample, EventNumber{0}},
              {{ColumnId::kTime, std::vector<std::uint64_t>(stacks.size(), 20'000)}, {ColumnId::kStack, stacks}});
    if (!definitions.empty()) {
        batch.add_stacks(definitions);
    }
    const std::vector batches{batch.build()};
    ASSERT_TRUE(store.put(partition_of(session.record.target, kFirstBucket), batches).ok());
}

// Definitions and rows that come after the dictionary was made: a chain that its map doesn't have, and chains without a
// definition.
TEST(DictionaryCounts, FollowWhatComesLate) {
    const ProfileScenario scenario = fleet_scenario(6);
    const auto store = delivered(scenario, dictionary_options(false), DeliveryOrder{60});
    ASSERT_EQ(stack_visits_of_top(*store), 0);
    const ScenarioSession& first = scenario.sessions[1];
    put_late(*store, first, 1'000'000, {9'999}, {{9'999, 0, 0, 0x4242}});
    expect_same(*store);
    EXPECT_EQ(stack_visits_of_top(*store), 1);
    put_late(*store, scenario.sessions[4], 1'000'000, {9'999}, {});
    expect_same(*store);
    EXPECT_EQ(stack_visits_of_top(*store), 2);
    // Compacted again, its map knows that one, and no other of the numbers before it.
    ASSERT_TRUE(store->advance_watermark(first.record.target, first.record.session, Seq{1'000'000}).ok());
    constexpr UtcNs kLater{9'000'000'000 * kNsPerSecond};
    ASSERT_TRUE(store->compact(kLater, [](const CompactionStep&) { return Visit::kContinue; }).ok());
    EXPECT_EQ(stack_visits_of_top(*store), 1);
    put_late(*store, first, 1'000'001, {9'999, 9'998}, {});
    expect_same(*store);
    EXPECT_EQ(stack_visits_of_top(*store), 2);
    const Given given = answers_of(*store, false);
    EXPECT_NE(given.answers[0].find("+0x4242"), std::string::npos);
    EXPECT_NE(given.answers[0].find("[undefined]"), std::string::npos);
}

// Definitions that contradict each other are an error, whether a map was made of the first ones or not.
TEST(DictionaryCounts, DontHideAContradictionThatComesLate) {
    const ProfileScenario scenario = fleet_scenario(6);
    const auto store = delivered(scenario, dictionary_options(false), DeliveryOrder{60});
    put_late(*store, scenario.sessions[1], 1'000'000, {1}, {{1, 0, 0, 0x9999'9999}});
    const auto exact = run_text_query("top", {{"exact", "yes"}}, *store, {}, UtcNs{0});
    const auto given = run_text_query("top", {}, *store, {}, UtcNs{0});
    ASSERT_TRUE(exact.ok() && given.ok());
    EXPECT_EQ(given->rows, exact->rows);
    for (const Answer* answer : {&*exact, &*given}) {
        EXPECT_TRUE(std::any_of(answer->warnings.begin(), answer->warnings.end(), [](const std::string& warning) {
            return warning.find(": 1 definitions of a stack, image or string") != std::string::npos;
        }));
    }
}

TEST(DictionaryCounts, FallBackToDefinitionsWhereSomethingIsMissingOrDamaged) {
    using Tampering = WatchedStore::Tampering;
    const auto store = delivered(fleet_scenario(8), dictionary_options(false), DeliveryOrder{60});
    const Given exact = answers_of(*store, true);
    for (const Tampering tampering : {Tampering::kNoDictionary, Tampering::kDamagedDictionary, Tampering::kNoMaps,
                                      Tampering::kDamagedMaps, Tampering::kMapsOfAnother}) {
        SCOPED_TRACE(static_cast<int>(tampering));
        const WatchedStore watched{*store, tampering};
        const Given given = answers_of(watched, false);
        EXPECT_EQ(given.answers, exact.answers);
        EXPECT_GT(stack_visits_of_top(*store, tampering), 0);
        const bool is_damage = tampering == Tampering::kDamagedDictionary || tampering == Tampering::kDamagedMaps;
        EXPECT_EQ(given.warnings != exact.warnings, is_damage);
    }
}

TEST(DictionaryCounts, OfDroppedHoursAreGone) {
    const auto store = delivered(fleet_scenario(9), dictionary_options(false), DeliveryOrder{60});
    const Given before = answers_of(*store, false);
    ASSERT_TRUE(store->drop(store->partitions()->front()).ok());
    expect_same(*store);
    EXPECT_NE(answers_of(*store, false).answers, before.answers);
}

}  // namespace
}  // namespace perfleet::dictionary_counts_test
