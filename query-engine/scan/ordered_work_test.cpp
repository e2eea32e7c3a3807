#include "query-engine/scan/ordered_work.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <memory>

namespace perfleet::ordered_work_test {
namespace {

constexpr std::size_t kTasks = 200;

// Which tasks' products were taken, in that order; a product is movable only.
template <class IsTight>
std::vector<std::size_t> taken_of(unsigned worker_count, std::size_t count_max, std::size_t& ahead_max,
                                  const IsTight& is_tight) {
    std::atomic<std::size_t> begun{0};
    std::vector<std::size_t> taken;
    ahead_max = 0;
    do_in_order(
        kTasks, worker_count,
        [&](std::size_t task) {
            ++begun;
            return std::make_unique<std::size_t>(task);
        },
        [&](std::unique_ptr<std::size_t> product) {
            taken.push_back(*product);
            ahead_max = std::max(ahead_max, begun - taken.size());
            return taken.size() < count_max;
        },
        is_tight);
    return taken;
}

TEST(OrderedWork, IsTakenInTheOrderOfTheTasks) {
    for (const unsigned workers : {1U, 2U, 8U}) {
        std::size_t ahead = 0;
        const std::vector<std::size_t> taken = taken_of(workers, kTasks, ahead, [] { return false; });
        ASSERT_EQ(taken.size(), kTasks);
        EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
        EXPECT_LE(ahead, workers);
    }
}

TEST(OrderedWork, IsNotDoneAheadWhereRoomIsTight) {
    std::size_t ahead = 0;
    EXPECT_EQ(taken_of(8, kTasks, ahead, [] { return true; }).size(), kTasks);
    EXPECT_EQ(ahead, 0U);
}

TEST(OrderedWork, EndsWhenItsTakerSaysSo) {
    for (const unsigned workers : {1U, 8U}) {
        std::size_t ahead = 0;
        EXPECT_EQ(taken_of(workers, 3, ahead, [] { return false; }), (std::vector<std::size_t>{0, 1, 2}));
    }
}

// A limit holds for the whole process, so the test has one of its own.
TEST(OrderedWorkDeathTest, MakesDoWithTheThreadsThatThereAre) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "a user whose processes are only this one: needs root";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto work_below = [](rlim_t process_count) {
        constexpr uid_t kUsersBegin = 1'000'000;
        const rlimit limit{process_count, process_count};
        if (setuid(kUsersBegin + static_cast<uid_t>(getpid())) != 0 || setrlimit(RLIMIT_NPROC, &limit) != 0) {
            _exit(2);
        }
        std::size_t ahead = 0;
        const std::vector<std::size_t> taken = taken_of(8, kTasks, ahead, [] { return false; });
        _exit(taken.size() == kTasks && std::is_sorted(taken.begin(), taken.end()) ? 0 : 1);
    };
    EXPECT_EXIT(work_below(1), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(work_below(3), testing::ExitedWithCode(0), "");
}

TEST(OrderedWork, OfNoTasksIsNothing) {
    do_in_order(
        0, 4, [](std::size_t task) { return task; }, [](std::size_t) { return true; }, [] { return false; });
}

}  // namespace
}  // namespace perfleet::ordered_work_test
