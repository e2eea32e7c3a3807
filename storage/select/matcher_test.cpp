#include "storage/select/matcher.h"

#include <gtest/gtest.h>

#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

SessionRecord board() {
    SessionRecord record;
    record.session = SessionId{0x0123456789abcdefULL, 0xfedcba9876543210ULL};
    record.target_name = "board-7";
    record.architecture = "aarch64";
    record.labels = {{"rack", "b\"1\\"}, {"site", "lab"}};
    return record;
}

bool selects(const std::string& text) {
    const Result<std::vector<Matcher>> matchers = parse_matchers(text);
    EXPECT_TRUE(matchers.ok()) << text << ": " << (matchers.ok() ? "" : matchers.error().message);
    const Result<bool> result = matches(*matchers, board());
    EXPECT_TRUE(result.ok());
    return *result;
}

std::string refusal(const std::string& text) {
    const Result<std::vector<Matcher>> matchers = parse_matchers(text);
    EXPECT_FALSE(matchers.ok()) << text;
    if (matchers.ok()) {
        return {};
    }
    EXPECT_EQ(matchers.error().code, ErrorCode::kUsage);
    return matchers.error().message;
}

TEST(Matchers, EmptyTextSelectsAll) {
    EXPECT_TRUE(selects(""));
    EXPECT_TRUE(selects("  "));
    EXPECT_TRUE(selects("{}"));
    EXPECT_TRUE(selects(" { } "));
}

TEST(Matchers, CompareLabelsAndTheNamedOnes) {
    EXPECT_TRUE(selects(R"({site="lab"})"));
    EXPECT_FALSE(selects(R"({site="la"})"));
    EXPECT_FALSE(selects(R"({site!="lab"})"));
    EXPECT_TRUE(selects(R"({target="board-7",arch="aarch64"})"));
    EXPECT_TRUE(selects(R"({session="0123456789abcdeffedcba9876543210"})"));
    EXPECT_TRUE(selects(R"({ site = "lab" , arch != "x86_64" , })"));
}

TEST(Matchers, QuotedNamesMayHaveAnyCharacter) {
    SessionRecord record = board();
    record.labels = {{"a:b \"c", "1"}};
    EXPECT_TRUE(*matches(*parse_matchers(R"({"a:b \"c"="1"})"), record));
    EXPECT_FALSE(*matches(*parse_matchers(R"({"a:b"="1"})"), record));
    EXPECT_NE(refusal(R"({""="1"})").find("a label's name"), std::string::npos);
    EXPECT_NE(refusal(R"({"a)").find("missing closing quote"), std::string::npos);
}

TEST(Matchers, TheirTextReadsBackAsTheSame) {
    for (const std::string text : {R"({})", R"({a="1",b!="2",c=~"3|\.4",d!~"5"})", R"({"x \"y"="a\\b\"c"})"}) {
        const auto matchers = *parse_matchers(text);
        const auto again = *parse_matchers(matchers_text(matchers));
        ASSERT_EQ(again.size(), matchers.size()) << text;
        for (std::size_t i = 0; i < again.size(); ++i) {
            EXPECT_EQ(again[i].label, matchers[i].label);
            EXPECT_EQ(again[i].op, matchers[i].op);
            EXPECT_EQ(again[i].value, matchers[i].value);
        }
    }
}

TEST(Matchers, LabelsHaveLettersDigitsAndFourSigns) {
    SessionRecord record = board();
    record.labels = {{"a_B-3.x/y", "1"}};
    EXPECT_TRUE(*matches(*parse_matchers(R"({a_B-3.x/y="1"})"), record));
    EXPECT_NE(refusal(R"({a:b="1"})").find("position 3;"), std::string::npos);
    EXPECT_FALSE(selects(R"({a_B-3.x/y="1"})"));
}

TEST(Matchers, ADotInAPatternIsAnyCharacter) {
    SessionRecord record = board();
    record.labels = {{"note", "two\nlines"}};
    EXPECT_TRUE(*matches(*parse_matchers(R"({note=~"two.*"})"), record));
}

TEST(Matchers, MissingLabelIsTheEmptyString) {
    EXPECT_TRUE(selects(R"({owner=""})"));
    EXPECT_TRUE(selects(R"({owner!="x"})"));
    EXPECT_TRUE(selects(R"({owner=~""})"));
    EXPECT_TRUE(selects(R"({owner=~".*"})"));
    EXPECT_FALSE(selects(R"({owner=~".+"})"));
}

TEST(Matchers, PatternsMatchTheWholeValue) {
    EXPECT_TRUE(selects(R"({arch=~"aarch.*"})"));
    EXPECT_FALSE(selects(R"({arch=~"aarch"})"));
    EXPECT_FALSE(selects(R"({arch=~"arch64"})"));
    EXPECT_TRUE(selects(R"({arch=~"x86_64|aarch64"})"));
    EXPECT_TRUE(selects(R"({arch=~"a|aarch64|aa"})"));
    EXPECT_FALSE(selects(R"x({arch!~"aarch(32|64)"})x"));
    EXPECT_TRUE(selects(R"({target=~"board-[0-9]"})"));
    EXPECT_FALSE(selects(R"({target=~"board\.7"})"));
}

TEST(Matchers, QuotedTextKnowsQuoteAndBackslash) { EXPECT_TRUE(selects(R"({rack="b\"1\\"})")); }

TEST(Matchers, StringsMayHaveEachQuoteOfPromQL) {
    EXPECT_TRUE(selects(R"({rack='b"1\\',site='lab'})"));
    EXPECT_TRUE(selects("{rack=`b\"1\\`, site=~`l.b`,\n'target'=`board-7`}"));
    EXPECT_EQ((*parse_matchers(R"({a='it\'s',b="it's"})"))[0].value, "it's");
    EXPECT_NE(refusal(R"({a='b"})").find("missing closing quote"), std::string::npos);
    EXPECT_EQ(end_of_matchers(R"({a='}"',b=`}\`} rest})"), 15U);
}

TEST(Matchers, ErrorsNameThePosition) {
    EXPECT_NE(refusal("site=\"lab\"").find("position 1;"), std::string::npos);
    EXPECT_NE(refusal("{site}").find("position 6;"), std::string::npos);
    EXPECT_NE(refusal("{site=lab}").find("position 7;"), std::string::npos);
    EXPECT_NE(refusal("{site=\"lab}").find("missing closing quote at position 12;"), std::string::npos);
    EXPECT_NE(refusal("{site=\"lab\"").find("position 12;"), std::string::npos);
    EXPECT_NE(refusal("{site=\"lab\"} x").find("position 14;"), std::string::npos);
    EXPECT_NE(refusal("{site!lab}").find("expected =, !=, =~ or !~"), std::string::npos);
    EXPECT_NE(refusal("{site!").find("expected =, !=, =~ or !~"), std::string::npos);
    EXPECT_NE(refusal(R"({site!=~"lab"})").find("expected a value"), std::string::npos);
    EXPECT_NE(refusal(R"({site="a" arch="b"})").find("expected ',' or '}' at position 11;"), std::string::npos);
    EXPECT_NE(refusal("{=\"a\"}").find("label's name"), std::string::npos);
    EXPECT_NE(refusal("{site=\"a\\").find("missing closing quote"), std::string::npos);
}

TEST(Matchers, HostilePatternsAreRefused) {
    EXPECT_NE(refusal(R"({a=~"((a{1,100}){1,100}){1,100}"})").find("repetition"), std::string::npos)
        << refusal(R"({a=~"((a{1,100}){1,100}){1,100}"})");
    EXPECT_NE(refusal("{a=~\"a" + std::string(200, '+') + "\"}").find("bad repetition operator"), std::string::npos);
    EXPECT_NE(refusal("{a=~\"(" + std::string(100, '.') + "){1000}\"}").find("too large"), std::string::npos);
    EXPECT_NE(refusal(R"({a=~"(a*)\\1"})").find("invalid escape sequence"), std::string::npos);
    EXPECT_NE(refusal("{a=~\"" + std::string(1'100, '(') + "\"}").find("longer than 1024"), std::string::npos);
    EXPECT_NE(refusal(R"({a=~"[a"})").find("[a"), std::string::npos);
    EXPECT_NE(refusal(std::string(limits::kSelectSizeBytesMax + 1, ' ')).find("longer than"), std::string::npos);
    EXPECT_TRUE(selects(R"({site=~"[{]*lab"})"));
}

TEST(Matchers, MayBeAsLongAsTheirLimits) {
    EXPECT_FALSE(selects("{a=~\"" + std::string(1'024, 'a') + "\"}"));
    EXPECT_NE(refusal("{a=~\"" + std::string(1'025, 'a') + "\"}").find("longer than 1024"), std::string::npos);
    EXPECT_TRUE(selects(std::string(limits::kSelectSizeBytesMax, ' ')));
}

TEST(Matchers, AWrongPatternIsReportedOnce) {
    testing::internal::CaptureStderr();
    (void)refusal(R"({a=~"("})");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Matchers, PatternsThatTakeOtherMatchersForeverAreMatched) {
    EXPECT_FALSE(selects(R"({site=~"((((l*)*)*a*)*)*c"})"));
    EXPECT_TRUE(selects(R"({site=~"[a-z]{3}"})"));
}

TEST(Matchers, SayWhereTheirTextStands) {
    EXPECT_EQ(parse_matchers("{", "classes:3").error().message.find("classes:3: expected a label's name"), 0U);
    EXPECT_EQ(parse_matchers(R"({a=~"("})", "classes:3").error().message.find("classes:3: regular expression"), 0U);
}

TEST(Matchers, EndAtTheFirstBraceThatStandsInNoString) {
    EXPECT_EQ(end_of_matchers(R"({a="}\"}"} rest})"), 10U);
    EXPECT_EQ(end_of_matchers("{} rest"), 2U);
    EXPECT_EQ(end_of_matchers("{a"), 2U);
}

TEST(Matchers, EveryPrefixOfAValidTextIsAnswered) {
    const std::string text = R"({site="l\"ab", arch=~"aarch.*", owner!~"x|y"})";
    for (std::size_t size = 1; size < text.size(); ++size) {
        EXPECT_FALSE(parse_matchers(text.substr(0, size)).ok()) << text.substr(0, size);
    }
    EXPECT_TRUE(parse_matchers(text).ok());
}

}  // namespace
}  // namespace perfleet
