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
    EXPECT_EQ(text_line("p", {LogLevel::kWarning, "refused", "a\nb", {{"target", "\x1b[2J\xff\u202e"}}}, 0),
              R"(p: a\nb target="\\x1b[2J\\xff\\u202e")");
}

TEST(LogLine, JsonHasEveryFieldAndNothingThatBreaksIt) {
    EXPECT_EQ(
        json_members("p", {LogLevel::kError, "store", "can't \"store\"\n", {{"path", "/a\\b"}}}, 2),
        R"("level":"error","program":"p","kind":"store","message":"can't \"store\"\\n","path":"/a\\b","suppressed":2)");
    EXPECT_EQ(json_members("p", {"plain"}, 0), R"("level":"warning","program":"p","message":"plain")");
}

TEST(LogEvent, IsTakenAsPlainTextWhereThatIsEnough) {
    std::string heard;
    const LogSink log = [&](std::string_view text) { heard = text; };
    log({LogLevel::kInfo, "kind", "with fields", {{"a", "1"}}});
    EXPECT_EQ(heard, "with fields");
    log(std::string{"plain"});
    EXPECT_EQ(heard, "plain");
}

}  // namespace
}  // namespace perfleet
