// Verdicts and outcomes, from lines whose intervals are made up.
#include "query-engine/statistic/diff/diff_lines.h"

#include <gtest/gtest.h>

#include <tuple>

#include "query-engine/statistic/number/distribution.h"

namespace perfleet::diff_lines_test {
namespace {

// A change that is normally distributed about `change` with this deviation.
DiffLine line_of(const std::string& name, long double change, long double deviation) {
    DiffLine line;
    line.identity = {name};
    line.name = name;
    line.figure = "mean";
    line.unit = "ns";
    line.before = 1000;
    line.after = 1000 * (1 + change);
    line.difference = *line.after - *line.before;
    line.change = change;
    line.direction = change;
    line.word_above = "slower";
    line.word_below = "faster";
    line.counted = "30 values";
    line.contrast_at = [=](long double confidence) {
        const long double reach = -normal_quantile((1 - confidence) / 2) * deviation;
        return Contrast{Interval{1000 * (change - reach), 1000 * (change + reach)},
                        Interval{1 + change - reach, 1 + change + reach}};
    };
    line.p_value_at = [=](long double limit) { return 2 * normal_probability(-std::abs(change - limit) / deviation); };
    return line;
}

struct Reported {
    Answer answer;

    [[nodiscard]] AnswerValue value(std::size_t row, const std::string& column) const {
        for (std::size_t i = 0; i < answer.columns.size(); ++i) {
            if (answer.columns[i].name == column) {
                return answer.rows[row][i];
            }
        }
        ADD_FAILURE() << column;
        return {};
    }
    [[nodiscard]] std::string text(std::size_t row, const std::string& column) const {
        const AnswerValue found = value(row, column);
        const auto* text = std::get_if<std::string>(&found);
        return text == nullptr ? "" : *text;
    }
};

Reported finished(const std::vector<DiffLine>& lines, const std::string& conditions = "", bool by_relevance = false,
                  std::optional<std::uint64_t> row_count_max = std::nullopt) {
    DiffLines all{{{"event", ""}}, {}};
    for (const DiffLine& line : lines) {
        all.add(line);
    }
    DiffOptions options;
    if (!conditions.empty()) {
        options.conditions = *parse_fail_conditions(conditions);
    }
    options.row_count_max = row_count_max;
    Reported answered;
    const auto done = all.finish(options, by_relevance, answered.answer);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return answered;
}

// As of compare: seven figures, of which one is asked for.
TEST(DiffLines, ThePrimaryLineIsTestedAloneAndTheOthersAmongThemselves) {
    std::vector<DiffLine> lines;
    for (int i = 0; i < 7; ++i) {
        lines.push_back(line_of(i == 0 ? "elapsed" : "other" + std::to_string(i), 0.05L, 0.02L));  // p = 0.012
        lines.back().is_mean = true;
        lines.back().family = static_cast<std::size_t>(i) + 1;
    }
    const auto finish = [&](const std::string& primary, const std::string& conditions) {
        DiffLines all{{{"event", ""}}, {}};
        for (const DiffLine& line : lines) {
            all.add(line);
        }
        DiffOptions options;
        options.primary = primary;
        options.conditions = conditions.empty() ? std::vector<FailCondition>{} : *parse_fail_conditions(conditions);
        Reported reported;
        EXPECT_TRUE(all.finish(options, false, reported.answer).ok());
        return reported;
    };
    const auto adjusted = [](const Reported& reported, std::size_t row) {
        return std::get<double>(reported.value(row, "p_adjusted")) / std::get<double>(reported.value(row, "p"));
    };
    EXPECT_EQ(finish("", "").text(0, "verdict"), "no difference shown: alone it would be, not among 7 comparisons");
    EXPECT_EQ(finish("", "").text(0, "primary"), "");
    const Reported one = finish("elapsed", "");
    EXPECT_EQ(one.text(0, "verdict"), "slower by 5.0 % [1.1, 8.9]");
    EXPECT_EQ(one.text(0, "primary"), "yes");
    EXPECT_NEAR(adjusted(one, 0), 1, 1e-9);
    EXPECT_EQ(one.text(1, "verdict"), "no difference shown: alone it would be, not among 6 comparisons");
    EXPECT_EQ(one.text(1, "primary"), "no");
    EXPECT_NEAR(adjusted(one, 1), 6, 1e-9);
    // Conditions of one line share its interval; one of another line makes this one primary, too.
    const Reported limits = finish("elapsed", "mean(elapsed) > 1%,mean(elapsed) < -1%");
    EXPECT_EQ(limits.text(0, "outcome"), "exceeded");
    EXPECT_NEAR(adjusted(limits, 0), 1, 1e-9);
    ASSERT_EQ(limits.answer.warnings.size(), 1U);
    EXPECT_NE(limits.answer.warnings[0].find("+5.00 % [1.08, 8.92]"), std::string::npos) << limits.answer.warnings[0];
    EXPECT_NEAR(adjusted(finish("elapsed", "mean(other1) > 1%"), 1), 2, 1e-9);
}

TEST(DiffLines, NothingBecomesLessByMoreThanAllOfIt) {
    const Reported reported = finished({line_of("a", -0.9L, 0.1L)});
    EXPECT_EQ(reported.text(0, "verdict"), "faster by 90.0 % [70.4, 100.0]");
    EXPECT_EQ(std::get<double>(reported.value(0, "change_low")), -100);
    EXPECT_NEAR(std::get<double>(reported.value(0, "change_high")), -70.4, 0.01);
}

TEST(DiffLines, VerdictsSayHowMuchAndWhatWouldBeSeen) {
    EXPECT_EQ(finished({line_of("a", 0.031L, 0.004L)}).text(0, "verdict"), "slower by 3.1 % [2.3, 3.9]");
    EXPECT_EQ(finished({line_of("a", -0.031L, 0.004L)}).text(0, "verdict"), "faster by 3.1 % [2.3, 3.9]");
    EXPECT_EQ(finished({line_of("a", 0.004L, 0.00642L)}).text(0, "verdict"),
              "no difference shown; 30 values detect ≥ 1.8 %");
    DiffLine of_runs = line_of("a", 0.004L, 0.00642L);  // 1.8 / 0.4, squared, is 20
    of_runs.runs = 8;
    EXPECT_EQ(finished({of_runs}).text(0, "verdict"),
              "no difference shown; 30 values detect ≥ 1.8 %; 162 runs a side would show a change like this one");
    DiffLine empty = line_of("a", 0.1L, 0.01L);
    empty.contrast_at = [](long double) { return Contrast{}; };
    EXPECT_EQ(finished({empty}).text(0, "verdict"), "too few values");
}

TEST(DiffLines, OneOfManyCountsForLess) {
    // p = 0.012 is significant alone, and not among ten.
    std::vector<DiffLine> lines{line_of("a", 0.025L, 0.01L)};
    EXPECT_TRUE(finished(lines).text(0, "verdict").starts_with("slower"));
    for (int i = 0; i < 9; ++i) {
        lines.push_back(line_of("b", 0.001L, 0.01L));
    }
    const Reported answered = finished(lines);
    EXPECT_EQ(answered.text(0, "verdict"), "no difference shown: alone it would be, not among 10 comparisons");
    EXPECT_NEAR(std::get<double>(answered.value(0, "p_adjusted")), 10 * std::get<double>(answered.value(0, "p")),
                1e-12);
    // Intervals are those of the verdicts: 1 − 5 % ÷ 10 holds 0.
    EXPECT_LT(std::get<double>(answered.value(0, "change_low")), 0);
    EXPECT_GT(std::get<double>(finished({lines[0]}).value(0, "change_low")), 0);
}

TEST(DiffLines, OneRunASideHasNoVerdictAndDecidesNothing) {
    DiffLine line = line_of("a", 0.08L, 0.001L);
    line.unknown = "one run a side doesn't predict the next one";
    DiffLine greatest = line;
    greatest.figure = "max";
    greatest.contrast_at = nullptr;
    greatest.p_value_at = nullptr;
    const Reported answered = finished({line, greatest}, "mean > 5%, max > 5%");
    EXPECT_EQ(answered.text(0, "verdict"), "unknown: one run a side doesn't predict the next one");
    EXPECT_EQ(answered.text(0, "outcome"), "undecided");
    EXPECT_EQ(answered.text(1, "outcome"), "undecided");
    EXPECT_TRUE(std::holds_alternative<std::monostate>(answered.value(0, "p")));
    EXPECT_GT(std::get<double>(answered.value(0, "change_low")), 7.0);  // what is shown of these two runs
    ASSERT_EQ(answered.answer.warnings.size(), 2U);
    EXPECT_EQ(
        answered.answer.warnings[0],
        "--fail-if mean > 5%: undecided: a mean: +8.00 % [7.78, 8.22]; one run a side doesn't predict the next one");
}

TEST(DiffLines, TheMeanHasNineTenthsAndTheOthersTheRestOrAllOnceItHasChanged) {
    const auto lines = [](long double mean, long double others) {
        std::vector<DiffLine> all(5, line_of("a", others, 0.01L));
        all[0] = line_of("a", mean, 0.01L);
        all[0].is_mean = true;
        for (DiffLine& line : all) {
            line.family = 1;
        }
        return finished(all);
    };
    EXPECT_TRUE(lines(0.021L, 0).text(0, "verdict").starts_with("slower"));  // p = 0.036
    const Reported changed = lines(0.021L, 0.0252L);                         // p = 0.012 < 5 % ÷ 4
    EXPECT_TRUE(changed.text(1, "verdict").starts_with("slower"));
    EXPECT_GE(std::get<double>(changed.value(1, "p_adjusted")), std::get<double>(changed.value(0, "p_adjusted")));
    EXPECT_TRUE(lines(0, 0.0252L).text(1, "verdict").starts_with("no difference"));  // not < 0.5 % ÷ 4
    EXPECT_TRUE(lines(0, 0.034L).text(1, "verdict").starts_with("slower"));
}

TEST(DiffLines, FindsThePValuesThatDecideAndThoseThatAreShown) {
    std::vector<DiffLine> lines;
    int found = 0;
    for (int i = 0; i < 500; ++i) {
        // One in a hundred differs.
        DiffLine line = line_of("f" + std::to_string(i), i % 100 == 0 ? 0.1L : 0.0001L * (i % 100), 0.01L);
        const auto p_value_at = line.p_value_at;
        line.is_share = true;
        line.p_value_at = [&found, p_value_at](long double limit) {
            ++found;
            return p_value_at(limit);
        };
        line.p_value_is_below = [p_value_at](long double bound) { return p_value_at(0) < bound; };
        lines.push_back(line);
    }
    const Reported few = finished(lines, "", true, 10);
    EXPECT_EQ(found, 10);  // five of them differ
    std::vector<DiffLine> costly = lines;
    for (DiffLine& line : costly) {
        line.p_value_is_below = nullptr;
    }
    const Reported all = finished(costly, "", true);
    ASSERT_EQ(few.answer.rows.size(), 10U);
    ASSERT_EQ(all.answer.rows.size(), 500U);
    for (std::size_t row = 0; row < few.answer.rows.size(); ++row) {
        EXPECT_EQ(few.answer.rows[row], all.answer.rows[row]) << row;
    }
    EXPECT_EQ(finished(lines, "", true).answer.rows, all.answer.rows);
}

TEST(DiffLines, AConditionHoldsWhenTheWholeIntervalIsBeyond) {
    const auto outcome = [](long double change, long double deviation, const std::string& condition) {
        return finished({line_of("a", change, deviation)}, condition).text(0, "outcome");
    };
    EXPECT_EQ(outcome(0.08L, 0.01L, "mean > 5%"), "exceeded");
    EXPECT_EQ(outcome(0.08L, 0.02L, "mean > 5%"), "undecided");  // [4.1, 11.9]
    EXPECT_EQ(outcome(0.02L, 0.01L, "mean > 5%"), "within");
    EXPECT_EQ(outcome(0.04L, 0.01L, "mean > 5%"), "undecided");
    EXPECT_EQ(outcome(-0.08L, 0.01L, "mean < -5%"), "exceeded");
    EXPECT_EQ(outcome(-0.08L, 0.01L, "mean > 5%"), "within");
    EXPECT_EQ(outcome(0.08L, 0.01L, "mean > 20%, mean > 5%"), "exceeded");
    const Reported answered = finished({line_of("a", 0.08L, 0.02L)}, "mean > 5%");
    ASSERT_EQ(answered.answer.warnings.size(), 1U);
    EXPECT_EQ(
        answered.answer.warnings[0],
        "--fail-if mean > 5%: undecided: a mean: +8.00 % [4.08, 11.92]; about 2 times as many values would decide");
}

TEST(DiffLines, UndecidedFunctionsAreCountedAndOneThatIsNamedIsTold) {
    std::vector<DiffLine> lines;
    for (const auto& [name, change, deviation] :
         {std::tuple{"f", 0.08L, 0.02L}, std::tuple{"g", 0.04L, 0.02L}, std::tuple{"h", 0.001L, 0.001L}}) {
        DiffLine& line = lines.emplace_back(line_of(name, change, deviation));
        line.figure = "self";
        line.is_share = true;
        line.contrast_at = [inner = line.contrast_at](long double confidence) {
            const Interval of_1000 = *inner(confidence).difference;
            return Contrast{Interval{of_1000.low / 1000, of_1000.high / 1000}, std::nullopt};
        };
    }
    const Reported all = finished(lines, "self > 5%");
    ASSERT_EQ(all.answer.warnings.size(), 1U);
    EXPECT_EQ(all.answer.warnings[0],
              "--fail-if self > 5%: undecided for 2 functions: more samples would decide; self(FUNCTION) says of one "
              "how many");
    const Reported one = finished(lines, "self(f) > 5%");
    ASSERT_EQ(one.answer.warnings.size(), 1U);
    EXPECT_EQ(
        one.answer.warnings[0],
        "--fail-if self(f) > 5%: undecided: f self: +8.00 points [4.08, 11.92]; about 2 times as many samples would "
        "decide");
    EXPECT_TRUE(finished(lines, "self(h) > 5%").answer.warnings.empty());
    EXPECT_EQ(finished(lines, "self > 5%, self > 6%").answer.warnings.size(), 2U);
}

TEST(DiffLines, ConditionsAboutManySeriesCountTogether) {
    // Each alone is beyond with p = 0.03; that one of twenty is, chance does.
    std::vector<DiffLine> lines{line_of("hit", 0.0717L, 0.01L)};
    EXPECT_EQ(finished(lines, "mean > 5%").text(0, "outcome"), "exceeded");
    for (int i = 0; i < 19; ++i) {
        lines.push_back(line_of("other", 0.051L, 0.01L));
    }
    EXPECT_EQ(finished(lines, "mean > 5%").text(0, "outcome"), "undecided");
    EXPECT_EQ(finished(lines, "mean(hit) > 5%").text(0, "outcome"), "exceeded");
}

TEST(DiffLines, WithoutAnIntervalTheMeasuredValueDecidesAndIsSaid) {
    DiffLine line = line_of("a", 0.08L, 0);
    line.figure = "max";
    line.contrast_at = nullptr;
    line.p_value_at = nullptr;
    const Reported answered = finished({line}, "max > 5%");
    EXPECT_EQ(answered.text(0, "outcome"), "exceeded");
    EXPECT_EQ(answered.text(0, "verdict"), "");
    ASSERT_EQ(answered.answer.warnings.size(), 1U);
    EXPECT_NE(answered.answer.warnings[0].find("the measured values decide"), std::string::npos);
}

TEST(DiffLines, AConditionAboutNothingIsAnError) {
    DiffLines lines{{{"event", ""}}, {}};
    lines.add(line_of("a", 0.1L, 0.01L));
    DiffOptions options;
    options.conditions = *parse_fail_conditions("mean(b) > 5%");
    Answer answer;
    const auto done = lines.finish(options, false, answer);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kNotFound);
}

TEST(DiffLines, RelevanceIsTheLeastThatMayHaveChanged) {
    const Reported answered = finished({line_of("large and vague", 0.2L, 0.06L), line_of("noise", 0.01L, 0.01L),
                                        line_of("small and sure", 0.12L, 0.001L)},
                                       "", true);
    EXPECT_EQ(answered.text(0, "event"), "small and sure");
    EXPECT_EQ(answered.text(1, "event"), "large and vague");
    EXPECT_EQ(answered.text(2, "event"), "noise");
}

}  // namespace
}  // namespace perfleet::diff_lines_test
