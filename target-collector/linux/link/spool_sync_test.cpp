#include "target-collector/linux/link/spool_sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace perfleet {
namespace {

TEST(SpoolSync, SyncsAgainAndAgainUntilItIsStopped) {
    std::atomic<int> count{0};
    SpoolSync sync{1'000,
                   [&]() -> Result<Done> {
                       ++count;
                       count.notify_all();
                       return Done{};
                   },
                   [](std::string_view text) { ADD_FAILURE() << text; }};
    EXPECT_EQ(count, 0);
    sync.start();
    for (int seen = 0; seen < 3; seen = count) {
        count.wait(seen);
    }
    sync.stop();
    const int at_stop = count;
    EXPECT_EQ(sync.counts().done, static_cast<std::uint64_t>(at_stop));
    sync.sync();
    EXPECT_EQ(count, at_stop + 1);
}

TEST(SpoolSync, StopsAtOnceWhileItWaits) {
    SpoolSync sync{3'600'000'000'000, []() -> Result<Done> { return Done{}; }, [](std::string_view) {}};
    sync.start();
    sync.stop();  // an hour later otherwise
    EXPECT_EQ(sync.counts().done, 0U);
}

TEST(SpoolSync, TellsAFailureOnceUntilItWorksAgain) {
    bool is_broken = true;
    std::vector<std::string> logged;
    SpoolSync sync{1,
                   [&]() -> Result<Done> {
                       return is_broken ? Result<Done>{Error{ErrorCode::kIo, "the disk is gone"}} : Done{};
                   },
                   [&](std::string_view text) { logged.emplace_back(text); }};
    sync.sync();
    sync.sync();
    ASSERT_EQ(logged.size(), 1U);
    EXPECT_NE(logged[0].find("the disk is gone"), std::string::npos);
    is_broken = false;
    sync.sync();
    is_broken = true;
    sync.sync();
    EXPECT_EQ(logged.size(), 2U);
    EXPECT_EQ(sync.counts().done, 1U);
    EXPECT_EQ(sync.counts().failed, 3U);
}

}  // namespace
}  // namespace perfleet
