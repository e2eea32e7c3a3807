#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

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

TEST(TimeText, OffsetsNeedNoSign) {
    EXPECT_EQ(ns_of("1h"), kNow.value - 3'600LL * 1'000'000'000);
    EXPECT_EQ(ns_of("15m"), ns_of("-15m"));
}

// Expected values: `TZ=Europe/Berlin date -d TEXT +%s%N`; it is 23:13:20 there.
TEST(TimeText, TimesOfDayAndDaysAreLocal) {
    ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    ::tzset();
    EXPECT_EQ(ns_of("today"), 1'699'916'400'000'000'000);
    EXPECT_EQ(ns_of("yesterday"), 1'699'830'000'000'000'000);
    EXPECT_EQ(ns_of("10:00"), 1'699'952'400'000'000'000);
    EXPECT_EQ(ns_of("10:00:30"), 1'699'952'430'000'000'000);
    EXPECT_EQ(ns_of("23:30"), 1'699'914'600'000'000'000);  // of the day before
    ::unsetenv("TZ");
    ::tzset();
}

TEST(TimeText, WhatIsNoTimeIsRefused) {
    for (const char* text : {"",
                             "tomorrow",
                             "24:00",
                             "10:60",
                             "10:00x",
                             "10",
                             "1w",
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

// Of samples from 1 s to 3 s; perf's own results (util/time-utils.c: set_percent_time()), the end excluded.
TEST(TimeWindow, IsWhatPerfTakes) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const auto ticks = [&](const std::string& text, std::uint64_t per_second = 1'000'000'000) {
        const Result<TimeWindow> window = parse_window(text);
        EXPECT_TRUE(window.ok()) << text;
        const auto range = window->ticks(per_second, Ticks{kSecond}, Ticks{3 * kSecond});
        return std::pair{range.first.value, range.second.value};
    };
    using Range = std::pair<std::uint64_t, std::uint64_t>;
    EXPECT_EQ(ticks("10%-20%"), (Range{1'200'000'000, 1'400'000'000}));
    EXPECT_EQ(ticks("10%/2"), (Range{1'200'000'000, 1'400'000'000}));
    EXPECT_EQ(ticks("10%"), (Range{1'000'000'000, 1'200'000'000}));
    EXPECT_EQ(ticks("10%/10"), (Range{2'800'000'000, 3'000'000'001}));
    EXPECT_EQ(ticks("12.5%-100%"), (Range{1'250'000'000, 3'000'000'001}));
    EXPECT_EQ(ticks("1.5,2.000000001"), (Range{1'500'000'000, 2'000'000'002}));
    EXPECT_EQ(ticks("2,"), (Range{2'000'000'000, ~0ULL}));
    EXPECT_EQ(ticks(",2"), (Range{0, 2'000'000'001}));
    EXPECT_EQ(ticks("1.5,2", 10), (Range{15, 21}));  // of a clock of ten ticks a second
    EXPECT_EQ(ticks("1.51,2.09", 10), (Range{16, 21}));
}

TEST(TimeWindow, WhatIsNoneIsRefusedWithTheWayOut) {
    for (const std::string text : {"", ",", "5", "5s,6s", "2,1", "1.1234567890,2", "10%,20%", "20%-10%", "10%-120%",
                                   "10%/0", "10%/11", "10%-20%,30%-40%", "%", "10-20", "-1,2"}) {
        const Result<TimeWindow> window = parse_window(text);
        ASSERT_FALSE(window.ok()) << text;
        EXPECT_NE(window.error().message.find("START,STOP"), std::string::npos);
    }
}

}  // namespace
}  // namespace perfleet
