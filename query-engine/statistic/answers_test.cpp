// The same stored rows give the same answers, however they were stored.
#include <gtest/gtest.h>

#include "query-engine/limits/query_limits.h"
#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/stores.h"

namespace perfleet::answers_test {
namespace {

void append(std::string& text, const AnswerValue& value) {
    struct Visitor {
        std::string operator()(std::monostate) const { return "null"; }
        std::string operator()(const std::string& inner) const { return inner; }
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(std::uint64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return std::to_string(number); }
    };
    text += std::visit(Visitor{}, value) + "\t";
}

std::string dump(const Answer& answer) {
    std::string text;
    for (const AnswerColumn& column : answer.columns) {
        text += column.name + " [" + column.unit + "]\t";
    }
    for (const auto& row : answer.rows) {
        text += "\n";
        for (const AnswerValue& value : row) {
            append(text, value);
        }
    }
    text += "\nproduced " + std::to_string(answer.ledger.produced) + " stored " + std::to_string(answer.ledger.stored) +
            " expired " + std::to_string(answer.ledger.expired) + " pending " + std::to_string(answer.ledger.pending);
    for (const auto& [reason, rows] : answer.ledger.lost) {
        text += " lost " + reason + " " + std::to_string(rows);
    }
    for (const std::string& warning : answer.warnings) {
        text += "\n" + warning;
    }
    return text;
}

const std::vector<std::pair<std::string, OptionTexts>>& commands() {
    static const std::vector<std::pair<std::string, OptionTexts>> kAll{
        {"targets", {}},
        {"sessions", {}},
        {"losses", {}},
        {"counters", {}},
        {"tracepoints", {}},
        {"top", {}},
        {"top", {{"by", "thread"}}},
        {"top", {{"by", "image,command"}, {"measure", "samples"}}},
        {"top", {{"event", "sched:sched_switch"}, {"limit", "7"}}},
        {"top", {{"select", "{target=\"target-1\"}"}, {"from", "2023-11-14T22:13:20.000003Z"}}},
        {"tree", {}},
        {"tree", {{"event", "sched:sched_switch"}, {"measure", "samples"}, {"min-percent", "0.5"}}},
        {"losses", {{"session", "last"}}},
        {"diff", {{"before", "{target=\"target-1\"}"}, {"after", "{target=\"target-2\"}"}}},
        {"diff", {{"before", "last~1"}, {"after", "last"}, {"of", "profile"}, {"limit", "5"}}},
    };
    return kAll;
}

std::vector<std::string> answers(const StoreReader& store, const std::string& threads, bool same_batching) {
    std::vector<std::string> all;
    for (auto [command, options] : commands()) {
        // Numbers of batches, and ledgers of a time range, are about batches.
        if (!same_batching && (command == "sessions" || options.contains("from"))) {
            continue;
        }
        options["threads"] = threads;
        const Result<Answer> answer = run_text_query(command, options, store, {}, UtcNs{0});
        EXPECT_TRUE(answer.ok()) << command << ": " << (answer.ok() ? "" : answer.error().message);
        if (answer.ok()) {
            EXPECT_FALSE(answer->rows.empty()) << command;
            all.push_back(dump(*answer));
        }
    }
    return all;
}

TEST(Answers, DoNotDependOnOrderDoublesThreadsOrEngine) {
    const ProfileScenario scenario = make_scenario(2);
    std::vector<std::string> expected;
    for (const TestEngine engine : test_engines()) {
        for (const std::uint64_t order_seed : {0U, 5U, 6U}) {
            TestStores stores{engine};
            const std::unique_ptr<Store> store = stores.open();
            deliver(scenario, DeliveryOrder{60, order_seed, order_seed != 0}, *store);
            for (const char* threads : {"1", "2", "7"}) {
                SCOPED_TRACE(std::string{engine_name(engine)} + " order " + std::to_string(order_seed) + " threads " +
                             threads);
                const std::vector<std::string> given = answers(*store, threads, true);
                expected = expected.empty() ? given : expected;
                EXPECT_EQ(given, expected);
            }
        }
    }
}

// Compacted once at the end, and again and again in between.
TEST(Answers, DoNotDependOnWhatIsCompacted) {
    const ProfileScenario scenario = make_scenario(2);
    std::vector<std::string> expected;
    for (const TestEngine engine : test_engines()) {
        for (const DeliveryOrder& delivery : {DeliveryOrder{60, 0, false}, DeliveryOrder{60, 0, false, ~std::size_t{0}},
                                              DeliveryOrder{60, 0, false, 3}, DeliveryOrder{60, 7, true, 10}}) {
            TestStores stores{engine};
            const std::unique_ptr<Store> store = stores.open();
            deliver(scenario, delivery, *store);
            for (const char* threads : {"1", "3"}) {
                SCOPED_TRACE(std::string{engine_name(engine)} + " joined every " +
                             std::to_string(delivery.compact_every) + " threads " + threads);
                const std::vector<std::string> given = answers(*store, threads, true);
                expected = expected.empty() ? given : expected;
                EXPECT_EQ(given, expected);
            }
        }
    }
}

TEST(Answers, DoNotDependOnTheBatching) {
    const ProfileScenario scenario = make_scenario(3);
    std::vector<std::string> expected;
    for (const std::size_t rows_per_batch : {400U, 1U, 33U}) {
        const std::unique_ptr<Store> store = make_memory_store();
        deliver(scenario, DeliveryOrder{rows_per_batch, 0, false}, *store);
        const std::vector<std::string> given = answers(*store, "2", false);
        expected = expected.empty() ? given : expected;
        EXPECT_EQ(given, expected);
    }
}

// The same bytes, or none and why: from the first batch record to the last row of the answer.
TEST(Answers, NeedNoMoreThanTheirMemoryOrAreRefused) {
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(make_scenario(2), DeliveryOrder{}, *store);
    const auto ask = [&](std::size_t size_bytes_max, unsigned thread_count) -> Result<Answer> {
        Selection selection;
        selection.memory_size_bytes_max = size_bytes_max;
        selection.thread_count = thread_count;
        const auto scan = PERFLEET_TRY(Scan::open(*store, selection));
        Symbolizer symbolizer{store.get(), {}};
        return make_top(scan, symbolizer, {});
    };
    for (const unsigned threads : {1U, 2U, 7U}) {
        const Result<Answer> whole = ask(limits::kQueryMemorySizeBytes, threads);
        ASSERT_TRUE(whole.ok());
        std::size_t refused_count = 0;
        for (std::size_t size_bytes = 1'000; size_bytes <= 64'000'000; size_bytes += size_bytes / 2) {
            const Result<Answer> answer = ask(size_bytes, threads);
            if (answer.ok()) {
                EXPECT_EQ(dump(*answer), dump(*whole));
            } else {
                EXPECT_EQ(answer.error().code, ErrorCode::kTooLarge);
                EXPECT_NE(answer.error().message.find("--memory"), std::string::npos);
                ++refused_count;
            }
        }
        EXPECT_GT(refused_count, 5U);
        EXPECT_TRUE(ask(64'000'000, threads).ok());
    }
}

TEST(Answers, OfAnEmptyStoreAreEmptyTablesThatSaySo) {
    const std::unique_ptr<Store> store = make_memory_store();
    for (const QueryCommand& query : query_commands()) {
        const std::string& command = query.name;
        const OptionTexts options = command == "diff"       ? OptionTexts{{"before", "{}"}, {"after", "{}"}}
                                    : command == "annotate" ? OptionTexts{{"symbol", "main"}}
                                                            : OptionTexts{};
        const Result<Answer> answer = run_text_query(command, options, *store, {}, UtcNs{0});
        ASSERT_TRUE(answer.ok()) << command;
        EXPECT_TRUE(answer->rows.empty());
        EXPECT_FALSE(answer->columns.empty());
        ASSERT_EQ(answer->warnings.size(), 1U) << command;
        EXPECT_TRUE(answer->warnings[0].starts_with("no ") || command == "diff") << answer->warnings[0];
    }
}

TEST(Answers, BadOptionsAreNamed) {
    const std::unique_ptr<Store> store = make_memory_store();
    const std::vector<std::tuple<std::string, std::string, std::string>> bad{
        {"top", "by", "colour"},        {"diff", "before", "a b"},     {"diff", "after", ""},
        {"top", "before", "last"},      {"top", "limit", "-1"},        {"top", "limit", "1x"},
        {"top", "from", "noon"},        {"top", "until", ""},          {"top", "select", "{x}"},
        {"top", "threads", "65"},       {"top", "memory", "1x"},       {"top", "memory", "1000"},
        {"targets", "by", "symbol"},    {"targets", "nosuch", ""},     {"labels", "limit", "3"},
        {"tree", "limit", "3"},         {"tree", "min-percent", "x"},  {"tree", "min-percent", "nan"},
        {"tree", "min-percent", "101"}, {"top", "min-percent", "101"},
    };
    for (const auto& [command, name, value] : bad) {
        const Result<Answer> answer = run_text_query(command, {{name, value}}, *store, {}, UtcNs{0});
        ASSERT_FALSE(answer.ok()) << name << " " << value;
        EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
        EXPECT_NE(answer.error().message.find("--" + name), std::string::npos) << answer.error().message;
    }
    EXPECT_FALSE(run_text_query("bottom", {}, *store, {}, UtcNs{0}).ok());
    EXPECT_FALSE(run_text_query("top", {{"from", "now"}, {"to", "-1m"}}, *store, {}, UtcNs{1'000'000'000'000}).ok());
}

}  // namespace
}  // namespace perfleet::answers_test
