// How the answers of `diff` read as text.
#include <gtest/gtest.h>

#include <string>

#include "exporters/report/report.h"
#include "exporters/report/report_parts.h"

namespace perfleet {
namespace {

Answer profile_answer(int function_count) {
    Answer answer;
    for (const char* name : {"symbol", "image", "figure", "before", "after", "difference", "difference_low",
                             "difference_high", "p", "verdict", "before_samples", "after_samples"}) {
        answer.columns.push_back({name, ""});
    }
    for (int i = 0; i < function_count; ++i) {
        answer.rows.push_back(
            {"void a::very::long_name_of_a_function_whose_end_says_which<" + std::to_string(i) + ">()",
             std::string{"prog"}, std::string{"self"}, 4.0, 4.1, 0.1, -0.5, 0.7, 0.4,
             std::string{i == 0 ? "more by 0.1 points" : "no difference shown"}, std::uint64_t{1'000},
             std::uint64_t{1'000}});
    }
    return answer;
}

std::string text_of(const Answer& answer) {
    Screen screen;
    screen.width_columns = 80;
    return format_comparison(answer, screen);
}

TEST(ComparisonText, SaysHowToSeeTheOtherFunctions) {
    const std::string text = text_of(profile_answer(25));
    EXPECT_NE(text.find("no difference shown, 10 of 24 (--format csv: all)"), std::string::npos) << text;
    EXPECT_NE(text.find("self: changed"), std::string::npos) << text;
    EXPECT_NE(text.find("low, high: of all lines together"), std::string::npos) << text;
    EXPECT_EQ(text_of(profile_answer(11)).find("--format csv"), std::string::npos) << "all are there";
}

TEST(ComparisonText, PeopleReadGroupedNumbersOfSamples) {
    Answer answer = profile_answer(1);
    answer.rows[0].back() = std::uint64_t{12'345};
    Screen screen;
    EXPECT_TRUE(format_comparison(answer, screen).starts_with("1000 samples before, 12345 after\n"));
    screen.groups_digits = true;
    EXPECT_TRUE(format_comparison(answer, screen).starts_with("1000 samples before, 12,345 after\n"));
}

TEST(ComparisonText, NamesKeepTheirEnds) {
    const std::string text = text_of(profile_answer(3));
    for (const char* end : {"<0>()  prog", "<1>()  prog", "<2>()  prog"}) {
        EXPECT_NE(text.find(end), std::string::npos) << text;
    }
    EXPECT_NE(text.find("void a::"), std::string::npos);
    EXPECT_NE(text.find("…"), std::string::npos);
}

}  // namespace
}  // namespace perfleet
