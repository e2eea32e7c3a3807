#include <gtest/gtest.h>

#include "query-engine/select/selection.h"

namespace perfleet {
namespace {

constexpr UtcNs kNow{1'700'000'000'123'456'789};

std::int64_t ns_of(const std::string& text) {
    const Result<UtcNs> time = parse_time(text, kNow);
    EXPECT_TRUE(time.ok()) << (time.ok() ? "" : time.error().message);
    return time.ok() ? time->value : 0;
}

// Expected values: `date -u -d TEXT +%s%N`.
TEST(TimeText, Rfc3339IsUtcNanoseconds) {
    EXPECT_EQ(ns_of("1970-01-01T00:00:00Z"), 0);
    EXPECT_EQ(ns_of("2023-11-14T22:13:20.123456789Z"), kNow.value);
    EXPECT_EQ(ns_of("2023-11-14t22:13:20.1z"), 1'700'000'000'100'000'000);
    EXPECT_EQ(ns_of("2023-11-15 00:13:20+02:00"), 1'700'000'000'000'000'000);
    EXPECT_EQ(ns_of("2023-11-14T17:43:20-04:30"), 1'700'000'000'000'000'000);
    EXPECT_EQ(ns_of("2024-02-29T00:00:00Z"), 1'709'164'800'000'000'000);
    EXPECT_EQ(ns_of("1969-12-31T23:59:59.5Z"), -500'000'000);
    EXPECT_EQ(ns_of("2016-12-31T23:59:60Z"), 1'483'228'800'000'000'000);
}

TEST(TimeText, OffsetsCountBackFromNow) {
    EXPECT_EQ(ns_of("now"), kNow.value);
    EXPECT_EQ(ns_of("-30s"), kNow.value - 30LL * 1'000'000'000);
    EXPECT_EQ(ns_of("-15m"), kNow.value - 900LL * 1'000'000'000);
    EXPECT_EQ(ns_of("-2h"), kNow.value - 7'200LL * 1'000'000'000);
    EXPECT_EQ(ns_of("-7d"), kNow.value - 604'800LL * 1'000'000'000);
}

TEST(TimeText, WhatIsNoTimeIsRefused) {
    for (const char* text : {"",
                             "yesterday",
                             "2023-11-14",
                             "2023-02-29T00:00:00Z",
                             "2023-13-01T00:00:00Z",
                             "2023-11-14T24:00:00Z",
                             "2023-11-14T22:60:00Z",
                             "2023-11-14T22:13:61Z",
                             "2023-11-14T22:13:20",
                             "2023-11-14T22:13:20.Z",
                             "2023-11-14T22:13:20.1234567891Z",
                             "2023-11-14T22:13:20+2:00",
                             "2023-11-14T22:13:20Zx",
                             "9999-01-01T00:00:00Z",
                             "-",
                             "-m",
                             "-5",
                             "-5w",
                             "-5m ",
                             "-9999999999999d",
                             "-999999999999d",
                             "--5m",
                             "+5m"}) {
        const Result<UtcNs> time = parse_time(text, kNow);
        ASSERT_FALSE(time.ok()) << text;
        EXPECT_EQ(time.error().code, ErrorCode::kUsage);
        EXPECT_NE(time.error().message.find(text), std::string::npos);
    }
}

TEST(TimeText, WhatIsFormattedReadsBack) {
    EXPECT_EQ(format_time(kNow), "2023-11-14T22:13:20.123456789Z");
    for (const std::int64_t ns : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, kNow.value,
                                  std::int64_t{-9'000'000'000'000'000'000}, std::int64_t{9'000'000'000'000'000'000}}) {
        EXPECT_EQ(ns_of(format_time(UtcNs{ns})), ns);
    }
}

}  // namespace
}  // namespace perfleet
