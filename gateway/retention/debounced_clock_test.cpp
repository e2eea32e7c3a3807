#include "gateway/retention/debounced_clock.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace perfleet {
namespace {

constexpr std::int64_t kHourNs = kBucketDurationS * kNsPerSecond;
constexpr std::int64_t kMinuteNs = 60 * kNsPerSecond;
constexpr std::int64_t kBelievedAfterNs = static_cast<std::int64_t>(DebouncedClock::kBelievedAfterNs);

class DebouncedClockTest : public testing::Test {
protected:
    // Read `passed_ns` later, while the wall clock is off by `offset_ns_`, it is off by `expected_ns`.
    void expect_after(std::int64_t passed_ns, std::int64_t expected_ns) {
        passed_ns_ += passed_ns;
        const UtcNs wall{kBeginNs + passed_ns_ + offset_ns_};
        EXPECT_EQ(clock_.now(wall, static_cast<std::uint64_t>(5 + passed_ns_)).value,
                  kBeginNs + passed_ns_ + expected_ns);
    }

    static constexpr std::int64_t kBeginNs = 1'800'000'000 * kNsPerSecond;

    std::vector<std::pair<LogLevel, std::string>> reported_;
    DebouncedClock clock_{[this](const LogEvent& event) { reported_.emplace_back(event.level(), event.text()); }};
    std::int64_t passed_ns_ = 0;
    std::int64_t offset_ns_ = 0;
};

TEST_F(DebouncedClockTest, FollowsAClockThatIsSlewed) {
    for (int i = 0; i < 100; ++i) {
        offset_ns_ += kMinuteNs / 2;  // fifty minutes in the end
        expect_after(kMinuteNs, offset_ns_);
    }
    EXPECT_TRUE(reported_.empty());
}

TEST_F(DebouncedClockTest, AStepThatIsTakenBackWasNeverThere) {
    expect_after(0, 0);
    for (const std::int64_t by_ns : {20'000 * kHourNs, -3 * kHourNs}) {
        offset_ns_ = by_ns;
        for (int i = 0; i < 9; ++i) {
            expect_after(kMinuteNs, 0);
        }
        offset_ns_ = 0;
        expect_after(kMinuteNs, 0);
    }
    ASSERT_EQ(reported_.size(), 2U);
    EXPECT_EQ(reported_[0].first, LogLevel::kWarning);
    EXPECT_NE(reported_[0].second.find("by 72000000 s"), std::string::npos) << reported_[0].second;
    EXPECT_NE(reported_[1].second.find("by -10800 s"), std::string::npos) << reported_[1].second;
}

TEST_F(DebouncedClockTest, AStepThatStandsIsBelieved) {
    expect_after(0, 0);
    offset_ns_ = 5 * kHourNs;
    expect_after(kMinuteNs, 0);
    expect_after(kBelievedAfterNs - 1, 0);
    expect_after(1, offset_ns_);
    expect_after(kMinuteNs, offset_ns_);
    ASSERT_EQ(reported_.size(), 2U);
    EXPECT_EQ(reported_[1].first, LogLevel::kNotice);
}

TEST_F(DebouncedClockTest, AStepAfterAStepBeginsAnew) {
    expect_after(0, 0);
    offset_ns_ = 5 * kHourNs;
    expect_after(kMinuteNs, 0);
    expect_after(kBelievedAfterNs - kMinuteNs, 0);
    offset_ns_ = 7 * kHourNs;
    expect_after(kMinuteNs, 0);
    expect_after(kBelievedAfterNs - kMinuteNs, 0);
    expect_after(kMinuteNs, offset_ns_);
    EXPECT_EQ(reported_.size(), 3U);
}

}  // namespace
}  // namespace perfleet
