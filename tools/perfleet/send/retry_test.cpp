#include "tools/perfleet/send/retry.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RetryState state(unsigned attempts) { return {.attempts = attempts, .give_up_after = seconds{300}}; }

TEST(Retry, RepeatsWhatTheProtocolNamesAlone) {
    for (const unsigned status : {0U, 429U, 502U, 503U, 504U}) {
        EXPECT_EQ(verdict_of(status), SendVerdict::kRetry) << status;
    }
    for (const unsigned status : {400U, 408U, 413U, 422U, 500U, 501U, 505U, 100U}) {
        EXPECT_EQ(verdict_of(status), SendVerdict::kRejected) << status;
    }
    for (const unsigned status : {301U, 307U, 401U, 403U, 404U, 405U, 415U}) {
        EXPECT_EQ(verdict_of(status), SendVerdict::kStop) << status;
    }
    EXPECT_EQ(verdict_of(200), SendVerdict::kAccepted);
    EXPECT_EQ(verdict_of(202), SendVerdict::kAccepted);
}

TEST(Retry, DelaysGrowTwofoldUpToAMinute) {
    EXPECT_EQ(retry_delay(state(1)), seconds{1});
    EXPECT_EQ(retry_delay(state(2)), seconds{2});
    EXPECT_EQ(retry_delay(state(5)), seconds{16});
    EXPECT_EQ(retry_delay(state(7)), seconds{60});
    EXPECT_EQ(retry_delay(state(4'000'000'000)), seconds{60});
}

TEST(Retry, DelaysAreSpread) {
    RetryState early = state(3);
    early.jitter = 0;
    RetryState late = state(3);
    late.jitter = 0.999;
    EXPECT_EQ(retry_delay(early), seconds{2});
    EXPECT_EQ(retry_delay(late), milliseconds{5'996});
}

TEST(Retry, WaitsAsLongAsTheServerAsks) {
    RetryState asked = state(1);
    asked.retry_after = seconds{120};
    EXPECT_EQ(retry_delay(asked), milliseconds{120'100});
    asked.attempts = 7;
    asked.retry_after = seconds{0};
    EXPECT_EQ(retry_delay(asked), seconds{6});
}

TEST(Retry, GivesUpBeforeADelayThatIsTooLong) {
    RetryState last = state(1);
    last.elapsed = seconds{299};
    EXPECT_EQ(retry_delay(last), seconds{1});
    last.elapsed = milliseconds{299'001};
    EXPECT_EQ(retry_delay(last), std::nullopt);
    RetryState asked = state(1);
    asked.retry_after = seconds{301};
    EXPECT_EQ(retry_delay(asked), std::nullopt);
}

TEST(Retry, ReadsRetryAfter) {
    const UtcNs now{1'445'412'480 * kNsPerSecond};  // Wed, 21 Oct 2015 07:28:00 GMT
    EXPECT_EQ(parse_retry_after("17", now), seconds{17});
    EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:28:30 GMT", now), seconds{30});
    EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:00:00 GMT", now), seconds{0});
    EXPECT_EQ(parse_retry_after("-3", now), seconds{0});
    EXPECT_EQ(parse_retry_after("99999999", now), std::chrono::hours{7 * 24});
    for (const char* const text : {"", "soon", "17 s", "99999999999999999999", "Wed, 21 Oct"}) {
        EXPECT_EQ(parse_retry_after(text, now), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace perfleet
