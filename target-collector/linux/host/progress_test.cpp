#include "target-collector/linux/host/progress.h"

#include <gtest/gtest.h>

#include "schemas/vocabulary/time.h"

namespace perfleet {
namespace {

constexpr auto kSecond = static_cast<std::uint64_t>(kNsPerSecond);

CollectorCounts counts_of(std::uint64_t sample_count, bool is_connected) {
    CollectorCounts counts;
    counts.rows_produced[static_cast<std::size_t>(Kind::kSample)] = sample_count - 10;
    counts.rows_open = 10;
    counts.rows_produced[static_cast<std::size_t>(Kind::kStack)] = 1'000'000;  // definitions are no rows
    counts.rows_lost[static_cast<std::size_t>(CountName::kLostSpoolFull)] = 3;
    counts.spool_used_bytes = 5U << 10U;
    counts.is_connected = is_connected;
    return counts;
}

TEST(Progress, SaysWhatWasCollectedSinceTheLastTime) {
    Progress progress{10 * kSecond};
    const std::string gateway = "the gateway at tcp://127.0.0.1:7411";
    EXPECT_EQ(progress.for_terminal(counts_of(200, true), gateway, 12 * kSecond, 79),
              "Ctrl-C ends  100 rows/s  3 lost  spool 5 KiB  to tcp://127.0.0.1:7411");
    EXPECT_EQ(progress.for_terminal(counts_of(250, false), gateway, 13 * kSecond, 79),
              "Ctrl-C ends  50 rows/s  3 lost  spool 5 KiB  waiting for tcp://127.0.0.1:7411");
    EXPECT_EQ(progress.for_terminal(counts_of(250, true), "the store in /srv/measurements/of-march/perfleet",
                                    13 * kSecond, 79),
              "Ctrl-C ends  0 rows/s  3 lost  spool 5 KiB  to the store in /sr…-march/perfleet");
    EXPECT_EQ(progress.for_log(counts_of(250, true), gateway, 14 * kSecond),
              "250 rows, 0 rows/s, 3 lost, spool 5 KiB, connected to the gateway at tcp://127.0.0.1:7411");
}

TEST(Progress, IsLoggedEveryTenMinutes) {
    Progress progress{kSecond};
    EXPECT_FALSE(progress.is_log_due(600 * kSecond));
    EXPECT_TRUE(progress.is_log_due(601 * kSecond));
    (void)progress.for_log(counts_of(10, true), "x", 601 * kSecond);
    EXPECT_FALSE(progress.is_log_due(602 * kSecond));
}

}  // namespace
}  // namespace perfleet
