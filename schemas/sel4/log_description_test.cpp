#include "schemas/sel4/log_description.h"

#include <gtest/gtest.h>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::sel4 {
namespace {

TEST(LogDescription, ComesBackFromItsText) {
    LogDescription description;
    description.architecture = Architecture::kAarch64;
    description.architecture_name = "aarch64";
    description.version = "13.0.0";
    description.is_mcs = true;
    description.is_saturated = true;
    description.is_loss_known = false;
    description.tracepoint_id = 3;
    description.counter_bits = 32;
    description.thread_names = {{0, "idle_thread"}, {4, "serial driver"}};
    const std::string text = format_description(description);
    const auto again = parse_description(text);
    ASSERT_TRUE(again);
    EXPECT_EQ(format_description(*again), text);
    EXPECT_EQ(again->architecture, Architecture::kAarch64);
    EXPECT_EQ(again->thread_names.at(4), "serial driver");
    EXPECT_FALSE(again->is_loss_known);
    EXPECT_EQ(again->numbering(), PathNumbering::kBefore14);
}

TEST(LogDescription, PathNumbersAreNewFromVersion14) {
    LogDescription description;
    EXPECT_EQ(description.numbering(), PathNumbering::kSince14);
    for (const auto& [version, numbering] :
         {std::pair{"12.1.0", PathNumbering::kBefore14}, std::pair{"13.0.0", PathNumbering::kBefore14},
          std::pair{"14.0.0", PathNumbering::kSince14}, std::pair{"16.0.0-dev", PathNumbering::kSince14}}) {
        description.version = version;
        EXPECT_EQ(description.numbering(), numbering) << version;
    }
    EXPECT_FALSE(major_version("main"));
}

TEST(LogDescription, OtherFormatsAreNone) {
    EXPECT_FALSE(parse_description(""));
    EXPECT_FALSE(parse_description("name: sched_switch\nID: 317\n"));
    const auto unknown = parse_description("sel4 1\nfuture 7\nthread x y\nthread 5");
    ASSERT_TRUE(unknown);
    EXPECT_TRUE(unknown->thread_names.empty());
}

TEST(LogDescription, StaysBelowItsLimitAndInItsLines) {
    LogDescription description;
    description.version = "14\nmcs";
    for (std::uint64_t thread = 0; thread < 20'000; ++thread) {
        description.thread_names[thread] = "a thread";
    }
    const std::string text = format_description(description);
    EXPECT_LT(text.size(), limits::kEventFormatSizeBytesMax);
    EXPECT_FALSE(parse_description(text)->is_mcs);
}

}  // namespace
}  // namespace perfleet::sel4
