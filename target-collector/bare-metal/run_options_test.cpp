#include "target-collector/bare-metal/run_options.h"

#include <gtest/gtest.h>

namespace perfleet::bare_metal {
namespace {

TEST(RunOptions, AreTakenInAnyOrder) {
    const auto options = parse_run_options(
        "  stream=after turns=800 session=00000000000000010123456789abcdef samples=3000  period=loop seconds=3 "
        "handshakes=2 keys=on port=uart sink=file console=host load=circle trace=on");
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options->seconds, 3U);
    EXPECT_EQ(options->samples_min, 3'000U);
    EXPECT_EQ(options->handshakes_min, 2U);
    EXPECT_TRUE(options->has_keys);
    EXPECT_EQ(options->turns, 800U);
    EXPECT_TRUE(options->is_in_step);
    EXPECT_TRUE(options->streams_after);
    EXPECT_TRUE(options->has_uart);
    EXPECT_TRUE(options->is_traced);
    EXPECT_TRUE(options->is_circle);
    EXPECT_TRUE(options->is_for_file);
    EXPECT_TRUE(options->prints_to_host);
    EXPECT_EQ(options->session, (SessionId{1, 0x0123456789abcdef}));
    EXPECT_EQ(options->circle.test_count, 30U);
    const auto circle = parse_run_options("circle=1,2,3,4");
    ASSERT_TRUE(circle.ok());
    EXPECT_TRUE(circle->is_circle);
    EXPECT_EQ(circle->circle.initial_size, 1U);
    EXPECT_EQ(circle->circle.size_delta, 2U);
    EXPECT_EQ(circle->circle.group_count, 3U);
    EXPECT_EQ(circle->circle.test_count, 4U);
    EXPECT_EQ(parse_run_options("circle=30,1,5")->circle.test_count, 30U);
    const auto defaults = parse_run_options("");
    ASSERT_TRUE(defaults.ok());
    EXPECT_EQ(defaults->samples_min, 4'000U);
    EXPECT_FALSE(defaults->is_in_step);
    EXPECT_TRUE(defaults->session.is_none());
}

TEST(RunOptions, ThatAreNoneAreNamedByTheirPlace) {
    for (const char* wrong : {"x",
                              "seconds",
                              "seconds=",
                              "seconds=0",
                              "seconds=-1",
                              "seconds=1x",
                              "seconds=99999999999999999999",
                              "turns=",
                              "period=fixed",
                              "stream=before",
                              "port=virtio",
                              "sink=gateway",
                              "console=",
                              "load=shares",
                              "circle=",
                              "circle=1,2",
                              "circle=1,2,0",
                              "circle=1,2,3,4,5",
                              "circle=1,2,3,",
                              "trace=off",
                              "gateway=10.0.2.100",
                              "address=10.0.2.15",
                              "session=",
                              "session=0123",
                              "session=0123456789abcdef0123456789abcdeg",
                              "session=00000000000000000000000000000000"}) {
        const auto options = parse_run_options(std::string{"turns=1 "} + wrong + " samples=1");
        ASSERT_FALSE(options.ok()) << wrong;
        EXPECT_EQ(options.error().where, 8U) << wrong;
    }
}

TEST(RunOptions, AGatewayIsReachedOverTheNetwork) {
    EXPECT_FALSE(parse_run_options("seconds=1")->gateway);
    const auto options = parse_run_options("gateway=10.0.2.100:7411 address=10.0.2.15/24");
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options->gateway.value().address.value, 0x0a00'0264U);
    EXPECT_EQ(options->address.value().netmask.value, 0xffff'ff00U);
}

}  // namespace
}  // namespace perfleet::bare_metal
