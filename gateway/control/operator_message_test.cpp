#include "gateway/control/operator_message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace perfleet {
namespace {

using protocol::ControlCommand;

TEST(OperatorMessage, ReadsAsItIsWritten) {
    const OperatorRequest stop{7, {{0x0102, 0xfedc'ba98'7654'3210}, ControlCommand::kStop, "", 0, 5'000'000'000}};
    const std::string line = encode_operator_request(stop);
    EXPECT_EQ(line, "1 order 7 0000000000000102fedcba9876543210 stop 0 5000000000");
    ASSERT_TRUE(decode_operator_request(line).ok());
    EXPECT_EQ(*decode_operator_request(line), stop);
    for (const ControlCommand command :
         {ControlCommand::kStart, ControlCommand::kSetFrequency, ControlCommand::kSetPeriod}) {
        const OperatorRequest request{~0U, {{1, 2}, command, "probe:with blanks, and more", ~0ULL, ~0ULL}};
        const auto read = decode_operator_request(encode_operator_request(request));
        ASSERT_TRUE(read.ok());
        EXPECT_EQ(*read, request);
    }
    for (const SessionEdit change : {SessionEdit::kName, SessionEdit::kRemove}) {
        const OperatorRequest request{1, {{1, 2}, {}, change == SessionEdit::kName ? "a name" : "", 0, 5, change}};
        const auto read = decode_operator_request(encode_operator_request(request));
        ASSERT_TRUE(read.ok());
        EXPECT_EQ(*read, request);
    }
    for (const OperatorReply& reply : {OperatorReply{1, RequestOutcome::kApplied, ""},
                                       OperatorReply{2, RequestOutcome::kRefused, "not with this value"},
                                       OperatorReply{3, RequestOutcome::kNotConnected, ""},
                                       OperatorReply{4, RequestOutcome::kNoAnswer, "none within 10 s"}}) {
        const auto read = decode_operator_reply(encode_operator_reply(reply));
        ASSERT_TRUE(read.ok());
        EXPECT_EQ(*read, reply);
    }
}

TEST(OperatorMessage, WhatIsNoneIsRefused) {
    const std::string good = "1 order 7 0000000000000102fedcba9876543210 stop 0 5";
    ASSERT_TRUE(decode_operator_request(good).ok());
    std::vector<std::string> wrong{"",
                                   " ",
                                   "1",
                                   "1 order",
                                   "order 7 0000000000000102fedcba9876543210 stop 0 5",
                                   "1 answer 7 applied",
                                   "1 order -7 0000000000000102fedcba9876543210 stop 0 5",
                                   "1 order 4294967296 0000000000000102fedcba9876543210 stop 0 5",
                                   "1 order 7 102fedcba9876543210 stop 0 5",
                                   "1 order 7 0000000000000102FEDCBA9876543210 stop 0 5",
                                   "1 order 7 0000000000000102fedcba9876543210 explode 0 5",
                                   "1 order 7 0000000000000102fedcba9876543210 stop  5",
                                   "1 order 07 0000000000000102fedcba9876543210 stop 0 5"};
    for (std::size_t size = 0; size < good.size(); ++size) {
        wrong.push_back(good.substr(0, size));
    }
    for (const std::string& line : wrong) {
        const auto read = decode_operator_request(line);
        ASSERT_FALSE(read.ok()) << line;
        EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << line;
    }
    EXPECT_EQ(decode_operator_request("2" + good.substr(1)).error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(decode_operator_request(good + " " + std::string(kOperatorMessageSizeBytesMax, 'e')).error().code,
              ErrorCode::kTooLarge);
    EXPECT_FALSE(decode_operator_reply("1 answer 7 whatever").ok());
    EXPECT_FALSE(decode_operator_reply(good).ok());
}

}  // namespace
}  // namespace perfleet
