// Filters against the rows of the unfiltered answer: the rows of each filter add up to it.
#include <gtest/gtest.h>

#include "query-engine/select/selection_options.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/stores.h"

namespace perfleet::filter_test {
namespace {

// Of `top`.
constexpr std::size_t kSymbol = 0;
constexpr std::size_t kImage = 1;
constexpr std::size_t kCommand = 2;

class Filter : public ::testing::Test {
protected:
    void SetUp() override { deliver(make_scenario(5), DeliveryOrder{.compact_every = 7}, *store_); }

    Answer top(OptionTexts options, const std::string& by) {
        options["by"] = by;
        Result<Answer> answer = run_text_query("top", options, *store_, {}, UtcNs{0});
        EXPECT_TRUE(answer.ok()) << answer.error().message;
        return answer.ok() ? std::move(*answer) : Answer{};
    }
    static std::size_t column(const Answer& answer, std::string_view name) {
        const auto found = std::find_if(answer.columns.begin(), answer.columns.end(),
                                        [&](const AnswerColumn& one) { return one.name == name; });
        return static_cast<std::size_t>(found - answer.columns.begin());
    }
    static std::uint64_t self_sum(const Answer& answer) {
        std::uint64_t sum = 0;
        for (const auto& row : answer.rows) {
            sum += std::get<std::uint64_t>(row[column(answer, "self")]);
        }
        return sum;
    }
    static std::string text(const AnswerValue& value) {
        const auto* const number = std::get_if<std::int64_t>(&value);
        return number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
    }
    // Self counts by what the unfiltered answer says in this column.
    static std::map<std::string, std::uint64_t> self_by(const Answer& answer, std::size_t by) {
        std::map<std::string, std::uint64_t> sums;
        for (const auto& row : answer.rows) {
            sums[text(row[by])] += std::get<std::uint64_t>(row[column(answer, "self")]);
        }
        return sums;
    }
    void expect_same(const std::string& option, const std::map<std::string, std::uint64_t>& sums) {
        ASSERT_GT(sums.size(), 2U) << option;
        for (const auto& [value, sum] : sums) {
            if (value.find(',') == std::string::npos) {
                EXPECT_EQ(self_sum(top({{option, value}}, "symbol,image,command")), sum) << option << " " << value;
            }
        }
    }

    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(Filter, TakesTheRowsOfAThreadAProcessACommandAnImageOrAFunction) {
    const Answer threads = top({}, "thread");
    expect_same("tid", self_by(threads, column(threads, "tid")));
    expect_same("pid", self_by(threads, column(threads, "pid")));
    const Answer all = top({}, "symbol,image,command");
    expect_same("comm", self_by(all, kCommand));
    expect_same("image", self_by(all, kImage));
    expect_same("symbol", self_by(all, kSymbol));
}

TEST_F(Filter, OfProcessorsTakesEachRowOnce) {
    std::uint64_t sum = 0;
    std::size_t used_count = 0;
    for (int cpu = 0; cpu < 64; ++cpu) {
        const std::uint64_t rows = self_sum(top({{"cpu", std::to_string(cpu)}}, "command"));
        sum += rows;
        used_count += rows == 0 ? 0 : 1;
    }
    EXPECT_EQ(sum, self_sum(top({}, "command")));
    EXPECT_EQ(sum, self_sum(top({{"cpu", "0-63"}}, "command")));
    EXPECT_GE(used_count, 1U);
    EXPECT_EQ(self_sum(top({{"cpu", "64-65535"}}, "command")), 0U);
}

TEST_F(Filter, OfSeveralOptionsHoldTogetherAndOfOneEither) {
    const Answer all = top({}, "symbol,image,command");
    const auto commands = self_by(all, kCommand);
    const std::string first = commands.begin()->first;
    const std::string second = std::next(commands.begin())->first;
    EXPECT_EQ(self_sum(top({{"comm", first + "," + second}}, "command")), commands.at(first) + commands.at(second));
    std::uint64_t both = 0;
    const std::string image = text(all.rows.front()[kImage]);
    const std::string command = text(all.rows.front()[kCommand]);
    for (const auto& row : all.rows) {
        if (text(row[kImage]) == image && text(row[kCommand]) == command) {
            both += std::get<std::uint64_t>(row[column(all, "self")]);
        }
    }
    EXPECT_GT(both, 0U);
    EXPECT_EQ(self_sum(top({{"comm", command}, {"image", image}}, "symbol")), both);
}

TEST_F(Filter, TakesGlobs) {
    const Answer all = top({}, "symbol,image,command");
    for (const auto& [option, column] : {std::pair{"comm", kCommand}, {"image", kImage}, {"symbol", kSymbol}}) {
        const auto sums = self_by(all, column);
        const std::string start = sums.begin()->first.substr(0, 1);
        std::uint64_t expected = 0;
        for (const auto& [name, sum] : sums) {
            expected += name.starts_with(start) ? sum : 0;
        }
        const std::string pattern = (start == "[" ? "?" : start) + "*";
        expected = pattern == "?*" ? self_sum(all) : expected;
        EXPECT_EQ(self_sum(top({{option, pattern}}, "symbol,image,command")), expected) << option;
        EXPECT_EQ(self_sum(top({{option, "(*)"}}, "symbol,image,command")), 0U) << option;
    }
}

TEST(FilterNames, AreWhatUsersOfCPlusPlusType) {
    struct NameCase {
        std::string given;
        std::string name;
        bool is_taken;
    };
    for (const NameCase& one :
         {NameCase{"Thrower<*", "Thrower<int>::run()", true}, NameCase{"Thrower<*", "Thrower::run()", false},
          NameCase{"Thrower<*>::run*", "Thrower<int>::run()", true},
          NameCase{"Thrower<*>::run*", "Thrower<int>::stop()", false},
          NameCase{"map<int, *>::at", "map<int, char>::at", true}, NameCase{"Thrower<*,other", "other", true},
          NameCase{"Thrower<*,other", "Thrower<char>", true}, NameCase{"f(char*)", "f(char*)", true},
          NameCase{"f(char*)", "f(char, int)", false}, NameCase{"f(int, char**),g", "f(int, char**)", true},
          NameCase{"f(int, char**),g", "g", true}, NameCase{"f(void (*)(int))", "f(void (*)(int))", true},
          NameCase{"operator<*", "operator<<", true}, NameCase{"operator<,g", "operator<", true},
          NameCase{"A::operator->,B<*>", "A::operator->", true}, NameCase{"A::operator->,B<*>", "B<C>", true},
          NameCase{"[kernel]", "[kernel]", true}, NameCase{"std::*", "std::sort<int*>(int*, int*)", true}}) {
        const auto selection = read_selection(OptionValues{{"symbol", one.given}}, UtcNs{0});
        ASSERT_TRUE(selection.ok()) << selection.error().message;
        EXPECT_EQ(matches_any(selection->filter.symbols, one.name), one.is_taken) << one.given << " and " << one.name;
    }
}

TEST_F(Filter, ThatNoRowPassesIsNamed) {
    const Answer none = top({{"symbol", "nowhere<*"}, {"cpu", "0-63"}}, "symbol");
    EXPECT_TRUE(none.rows.empty());
    EXPECT_TRUE(std::any_of(none.warnings.begin(), none.warnings.end(), [](const std::string& line) {
        return line.starts_with("no row passes --cpu '0-63' --symbol 'nowhere<*'");
    })) << none.warnings.size();
}

TEST_F(Filter, SaysThatTheLedgerIsOfAllRows) {
    const Answer unfiltered = top({}, "command");
    const Answer filtered = top({{"comm", text(unfiltered.rows.front()[kCommand])}}, "command");
    EXPECT_EQ(filtered.ledger, unfiltered.ledger);
    EXPECT_TRUE(std::any_of(filtered.warnings.begin(), filtered.warnings.end(),
                            [](const std::string& line) { return line.find("filters") != std::string::npos; }));
}

TEST_F(Filter, TextsThatAreNoListsAreRefused) {
    for (const auto& [option, value] :
         {std::pair{"pid", "a"}, std::pair{"tid", "1,,2"}, std::pair{"cpu", "3-1"}, std::pair{"cpu", "99999"},
          std::pair{"pid", "1-"}, std::pair{"comm", ""}, std::pair{"tag", "region"}, std::pair{"tag", "=eu"},
          std::pair{"tag", "region=eu,"}}) {
        const auto answer = run_text_query("top", {{option, value}}, *store_, {}, UtcNs{0});
        ASSERT_FALSE(answer.ok()) << option << value;
        EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
        EXPECT_NE(answer.error().message.find(std::string{"--"} + option), std::string::npos);
    }
    // Counters have no call chains.
    EXPECT_FALSE(run_text_query("counters", {{"image", "x"}}, *store_, {}, UtcNs{0}).ok());
    EXPECT_TRUE(run_text_query("counters", {{"cpu", "0"}}, *store_, {}, UtcNs{0}).ok());
}

}  // namespace
}  // namespace perfleet::filter_test
