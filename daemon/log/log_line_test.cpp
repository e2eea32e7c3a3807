#include "daemon/log/log_line.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(LogLine, TextKeepsItsWordsAndQuotesFields) {
    EXPECT_EQ(text_line("perfleet-gateway", {"storing again"}, 0), "perfleet-gateway: storing again");
    EXPECT_EQ(text_line("p", {LogLevel::kWarning, "refused", "a peer was refused", {{"target", "a \"b\" \\"}}}, 3),
              R"(p: a peer was refused target="a \"b\" \\" suppressed=3)");
}

TEST(LogLine, WhatAPeerWroteStaysWithinItsLine) {
    EXPECT_EQ(on_one_line("a\nb\r\t\x1b[2J\x7f"), "a\\nb\\x0d\\x09\\x1b[2J\\x7f");
    EXPECT_EQ(on_one_line(std::string_view{"a\0b", 3}), "a\\x00b");
    EXPECT_EQ(on_one_line("Größe € 𝄞"), "Größe € 𝄞");
    EXPECT_EQ(on_one_line("\xc2\x9b"
                          "2J"),
              "\\xc2\\x9b2J");                                           // a control character of two bytes
    EXPECT_EQ(on_one_line("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
    EXPECT_EQ(on_one_line("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
    EXPECT_EQ(on_one_line("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // past the last character
    EXPECT_EQ(on_one_line("\xe2\x82"), "\\xe2\\x82");                    // cut off
}

TEST(LogLine, JsonHasEveryFieldAndNothingThatBreaksIt) {
    EXPECT_EQ(
        json_members("p", {LogLevel::kError, "store", "can't \"store\"\n", {{"path", "/a\\b"}}}, 2),
        R"("level":"error","program":"p","kind":"store","message":"can't \"store\"\\n","path":"/a\\b","suppressed":2)");
    EXPECT_EQ(json_members("p", {"plain"}, 0), R"("level":"warning","program":"p","message":"plain")");
}

TEST(LogEvent, IsTakenAsPlainTextWhereThatIsEnough) {
    std::string heard;
    const Telling tell = [&](std::string_view text) { heard = text; };
    tell({LogLevel::kInfo, "kind", "with fields", {{"a", "1"}}});
    EXPECT_EQ(heard, "with fields");
    tell(std::string{"plain"});
    EXPECT_EQ(heard, "plain");
}

}  // namespace
}  // namespace perfleet
