#include "target-collector/source/sel4/log_follower.h"

#include <gtest/gtest.h>

#include <random>

#include "target-collector/source/sel4/testing/simulated_kernel.h"

namespace perfleet::sel4::log_follower_test {
namespace {

KernelFeatures features_of(BenchmarkMode mode, Architecture architecture) {
    return {.mode = mode, .architecture = architecture, .tracepoint_count = 4};
}

// Everything that is there, in parts of at most `record_count_max`.
void follow(LogFollower& follower, std::size_t record_size, std::vector<RecordBytes>& into,
            std::uint64_t record_count_max) {
    for (;;) {
        const auto records = follower.poll(record_count_max);
        ASSERT_EQ(records.size() % record_size, 0U);
        ASSERT_LE(records.size() / record_size, record_count_max);
        if (records.empty()) {
            return;
        }
        for (std::size_t at = 0; at < records.size(); at += record_size) {
            into.emplace_back(records.begin() + static_cast<std::ptrdiff_t>(at),
                              records.begin() + static_cast<std::ptrdiff_t>(at + record_size));
        }
        if (records.size() / record_size < record_count_max) {
            return;  // each look is logged: a wait for the last entry would never end
        }
    }
}

struct Case {
    std::string name;
    KernelFeatures features;
};
class LogFollowerOf : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(
    Kernels, LogFollowerOf,
    ::testing::Values(Case{"EntriesOf64Bits", features_of(BenchmarkMode::kKernelEntries, Architecture::kAarch64)},
                      Case{"EntriesOfAarch32", features_of(BenchmarkMode::kKernelEntries, Architecture::kAarch32)},
                      Case{"EntriesOfIa32", features_of(BenchmarkMode::kKernelEntries, Architecture::kIa32)},
                      Case{"TracepointsOf64Bits", features_of(BenchmarkMode::kTracepoints, Architecture::kX86_64)},
                      Case{"TracepointsOf32Bits", features_of(BenchmarkMode::kTracepoints, Architecture::kAarch32)}),
    [](const auto& given) { return given.param.name; });

void log_something(SimulatedKernel& kernel, std::mt19937_64& random, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
        if (kernel.features().mode == BenchmarkMode::kKernelEntries) {
            kernel.log_entry(static_cast<std::uint8_t>(random() % 8),
                             static_cast<std::uint32_t>(random() % (1U << 29)));
        } else {
            kernel.log_tracepoint(random() % 4, 1 + random() % 100'000);
        }
    }
}

TEST_P(LogFollowerOf, HandsOutEachRecordOnceAndInOrderOverManyResetsWithTheirWindows) {
    SimulatedKernel kernel{GetParam().features};
    std::mt19937_64 random{7};
    // The clock of 32 bits wraps on the way.
    kernel.pass((1ULL << 32) - 500'000);
    std::uint64_t in_windows = 0;
    LogFollower follower{kernel};
    ASSERT_TRUE(follower.start().ok());
    kernel.in_window = [&] {
        const std::uint64_t count = random() % 40;
        in_windows += count;
        log_something(kernel, random, count);
    };
    std::vector<RecordBytes> followed;
    while (follower.counts().resets < 6) {
        log_something(kernel, random, random() % 3'000);
        follow(follower, kernel.record_size(), followed, 2 + random() % 1'000);
    }
    kernel.in_window = nullptr;
    for (int i = 0; i < 3; ++i) {
        follow(follower, kernel.record_size(), followed, 100'000);
    }
    // What each look itself logs may still be there.
    ASSERT_LE(kernel.logged.size() - followed.size(), 3U);
    kernel.logged.resize(followed.size());
    EXPECT_EQ(followed, kernel.logged);
    EXPECT_EQ(follower.counts().records, followed.size());
    EXPECT_GE(follower.counts().recovered, in_windows);
    EXPECT_EQ(follower.counts().saturations, 0U);
    EXPECT_EQ(follower.counts().lost, 0U);
    EXPECT_EQ(kernel.swallowed, 0U);
}

TEST_P(LogFollowerOf, AFullBufferIsCountedAndFollowedAgain) {
    SimulatedKernel kernel{GetParam().features};
    std::mt19937_64 random{3};
    LogFollower follower{kernel};
    ASSERT_TRUE(follower.start().ok());
    std::vector<RecordBytes> followed;
    log_something(kernel, random, kernel.capacity() + 500);
    while (follower.counts().resets == 0) {
        follow(follower, kernel.record_size(), followed, 1'000);
    }
    EXPECT_EQ(followed.size(), kernel.capacity()) << "it is read to its end";
    log_something(kernel, random, 10);
    for (int i = 0; i < 3; ++i) {
        follow(follower, kernel.record_size(), followed, 1'000);
    }
    kernel.logged.resize(followed.size());
    EXPECT_EQ(followed, kernel.logged);
    EXPECT_EQ(follower.counts().saturations, 1U);
    if (GetParam().features.mode == BenchmarkMode::kKernelEntries) {
        EXPECT_EQ(follower.counts().lost, 1U) << "the kernel doesn't count them";
    } else {
        EXPECT_EQ(follower.counts().lost, kernel.swallowed);
    }
}

TEST_P(LogFollowerOf, WhatTheKernelOverwritesBeforeItIsReadIsLostWithACount) {
    SimulatedKernel kernel{GetParam().features};
    std::mt19937_64 random{5};
    LogFollower follower{kernel};
    ASSERT_TRUE(follower.start().ok());
    std::vector<RecordBytes> followed;
    log_something(kernel, random, kernel.capacity() / 2);
    follow(follower, kernel.record_size(), followed, kernel.capacity());
    log_something(kernel, random, kernel.capacity() / 4 + 100);
    const auto first = follower.poll(1);  // begins anew, and reads one record of the tail
    ASSERT_EQ(first.size(), kernel.record_size());
    ASSERT_EQ(follower.counts().resets, 1U);
    const std::size_t read = followed.size() + 1;
    const std::size_t logged_before = kernel.logged.size();
    log_something(kernel, random, kernel.capacity() - 10);
    followed.clear();
    follow(follower, kernel.record_size(), followed, kernel.capacity());
    EXPECT_GE(follower.counts().lost + read, logged_before - 2) << "all of the tail";
    EXPECT_LE(follower.counts().lost + read, logged_before);
    EXPECT_GE(followed.size(), kernel.capacity() - 10) << "what overwrote it is read";
}

TEST(LogFollower, AClockOf32BitsMayWrapInAWindow) {
    SimulatedKernel kernel{features_of(BenchmarkMode::kKernelEntries, Architecture::kAarch32)};
    std::mt19937_64 random{9};
    LogFollower follower{kernel};
    ASSERT_TRUE(follower.start().ok());
    kernel.in_window = [&] {
        kernel.pass((1ULL << 32) - kernel.now().value % (1ULL << 32) - 100);
        log_something(kernel, random, 20);
    };
    std::vector<RecordBytes> followed;
    kernel.pass(3ULL << 30);
    while (follower.counts().resets == 0) {
        log_something(kernel, random, 1'000);
        follow(follower, kernel.record_size(), followed, 2'000);
    }
    follow(follower, kernel.record_size(), followed, 2'000);
    EXPECT_GE(follower.counts().recovered, 20U);
    kernel.logged.resize(followed.size());
    EXPECT_EQ(followed, kernel.logged);
}

// One comes while memory is kept to be compared: it is known by the index alone.
TEST(LogFollower, EqualTracepointsUpToTheResetAreKnownByTheIndex) {
    SimulatedKernel kernel{features_of(BenchmarkMode::kTracepoints, Architecture::kAarch64)};
    LogFollower follower{kernel};
    ASSERT_TRUE(follower.start().ok());
    kernel.behind_finalize = [&] { kernel.log_tracepoint(1, 7); };
    std::vector<RecordBytes> followed;
    while (follower.counts().resets < 4) {
        for (int i = 0; i < 1'000; ++i) {
            kernel.log_tracepoint(1, 7);
        }
        follow(follower, kernel.record_size(), followed, 5'000);
    }
    kernel.behind_finalize = nullptr;
    for (int i = 0; i < 3; ++i) {
        follow(follower, kernel.record_size(), followed, 5'000);
    }
    EXPECT_EQ(followed.size(), kernel.logged.size());
}

TEST(LogFollower, ABufferThatIsTooSmallOrMissingIsAFault) {
    SimulatedKernel kernel{features_of(BenchmarkMode::kKernelEntries, Architecture::kAarch64)};
    kernel.set_error = kIllegalOperation;
    LogFollower follower{kernel};
    const auto started = follower.start();
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(kernel.calls, std::vector<std::string>{"set buffer"});
}

TEST(LogFollower, WhileRecordsAreLeftTheKernelIsntEntered) {
    SimulatedKernel kernel{features_of(BenchmarkMode::kKernelEntries, Architecture::kAarch64)};
    LogFollower follower{kernel};
    ASSERT_TRUE(follower.start().ok());
    for (int i = 0; i < 100; ++i) {
        kernel.log_entry(6, 0);
    }
    kernel.calls.clear();
    for (int i = 0; i < 10; ++i) {
        EXPECT_FALSE(follower.poll(10).empty());
    }
    EXPECT_EQ(kernel.calls.size(), 1U);
}

}  // namespace
}  // namespace perfleet::sel4::log_follower_test
