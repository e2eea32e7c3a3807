// Valid and invalid options of a comparison.
#include "query-engine/statistic/diff/diff_command.h"

#include <gtest/gtest.h>

#include "query-engine/statistic/testing/text_query.h"

namespace perfleet::diff_command_test {
namespace {

Result<DiffQuestion> parse_texts_of_diff(const OptionTexts& texts, const Selection& common, UtcNs now) {
    const Result<OptionValues> values = parse_options(diff_options().specs(), texts);
    return values.ok() ? parse_diff(*values, common, now) : Result<DiffQuestion>{Error{values.error()}};
}

constexpr UtcNs kNow{1'700'000'000'000'000'000};

TEST(FailCondition, FigureNameRelationAndLimitAreRead) {
    const auto conditions = parse_fail_conditions("p99 > 5%, mean<-2.5 %,self(f(int, a<b>)) > 2%,p50 > +0%");
    ASSERT_TRUE(conditions.ok()) << conditions.error().message;
    ASSERT_EQ(conditions->size(), 4U);
    EXPECT_EQ((*conditions)[0].figure, "p99");
    EXPECT_TRUE((*conditions)[0].is_above);
    EXPECT_EQ((*conditions)[0].limit, 0.05L);
    EXPECT_EQ((*conditions)[1].figure, "mean");
    EXPECT_FALSE((*conditions)[1].is_above);
    EXPECT_EQ((*conditions)[1].limit, -0.025L);
    EXPECT_EQ((*conditions)[2].figure, "self");
    EXPECT_EQ((*conditions)[2].name, "f(int, a<b>)");
    EXPECT_EQ((*conditions)[2].text, "self(f(int, a<b>)) > 2%");
    EXPECT_EQ((*conditions)[3].figure, "median");
}

TEST(FailCondition, WhatIsNoneIsRefusedAndQuoted) {
    for (const char* text : {"", "p99", "p99 > 5", "p99 > %", "p99 > 5%,", "p101 > 5%", "average > 5%", "p99 >> 5%",
                             "p99() > 5%", "p99(a > 5%", "p99 > nan%", "p99 > 1e300%", "self(f)x > 1%", "> 5%"}) {
        const auto conditions = parse_fail_conditions(text);
        ASSERT_FALSE(conditions.ok()) << text;
        EXPECT_EQ(conditions.error().code, ErrorCode::kUsage) << text;
        EXPECT_TRUE(conditions.error().message.starts_with("--fail-if: ")) << conditions.error().message;
    }
    std::string many = "p1 > 1%";
    for (std::size_t i = 0; i < kFailConditionsMax; ++i) {
        many += ",p1 > 1%";
    }
    EXPECT_FALSE(parse_fail_conditions(many).ok());
}

TEST(DiffSide, WordsAddToWhatBothSidesShare) {
    Selection common;
    common.matchers = {{"env", Matcher::Operator::kEqual, "prod"}};
    common.event = "cycles";
    const auto side = parse_diff_side("before", R"( {version="a .. }\" b"} last~1 -2h..-1h )", common, kNow);
    ASSERT_TRUE(side.ok()) << side.error().message;
    ASSERT_EQ(side->matchers.size(), 2U);
    EXPECT_EQ(side->matchers[0].value, "prod");
    EXPECT_EQ(side->matchers[1].value, "a .. }\" b");
    EXPECT_EQ(side->session, "last~1");
    EXPECT_EQ(side->event, "cycles");
    EXPECT_EQ(side->from->value, kNow.value - 7'200'000'000'000);
    EXPECT_EQ(side->to->value, kNow.value - 3'600'000'000'000);
    const auto open = parse_diff_side("after", "2023-11-14T00:00:00.5Z..", {}, kNow);
    ASSERT_TRUE(open.ok()) << open.error().message;
    EXPECT_TRUE(open->from);
    EXPECT_FALSE(open->to);
}

TEST(DiffSide, ContradictionsAreRefused) {
    Selection common;
    common.session = "12";
    EXPECT_FALSE(parse_diff_side("before", "last", common, kNow).ok());
    Selection timed;
    timed.from = UtcNs{1};
    EXPECT_FALSE(parse_diff_side("before", "-2h..-1h", timed, kNow).ok());
    for (const char* text : {"-1h..-2h", "tomorrow..now", "{a=}", "{a=\"b\"} {c=\"d\"}", "last 12", "-2h.. ..-1h"}) {
        const auto side = parse_diff_side("before", text, {}, kNow);
        ASSERT_FALSE(side.ok()) << text;
        EXPECT_TRUE(side.error().message.starts_with("--before: ")) << side.error().message;
    }
}

TEST(DiffQuestion, NeedsBothSidesAndTakesFiguresFromConditions) {
    EXPECT_FALSE(parse_texts_of_diff({{"before", "last"}}, {}, kNow).ok());
    EXPECT_FALSE(parse_texts_of_diff({{"before", " "}, {"after", "last"}}, {}, kNow).ok());
    EXPECT_FALSE(parse_texts_of_diff({{"before", "1"}, {"after", "2"}, {"of", "counters"}}, {}, kNow).ok());
    EXPECT_FALSE(parse_texts_of_diff({{"before", "1"}, {"after", "2"}, {"by", "a,,b"}}, {}, kNow).ok());
    const auto question = parse_texts_of_diff(
        {{"before", "{v=\"1\"}"}, {"after", "{v=\"2\"}"}, {"by", "size"}, {"fail-if", "p99.9 > 1%"}}, {}, kNow);
    ASSERT_TRUE(question.ok()) << question.error().message;
    std::vector<std::string> names;
    for (const LatencyFigure& figure : question->options.figures) {
        names.push_back(figure_name(figure));
    }
    EXPECT_EQ(names, (std::vector<std::string>{"mean", "median", "p90", "p95", "p99", "p99.9", "max"}));
    EXPECT_EQ(question->options.chosen_labels, (std::set<std::string>{"size", "v"}));
}

}  // namespace
}  // namespace perfleet::diff_command_test
