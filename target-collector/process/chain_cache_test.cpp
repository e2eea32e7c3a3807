#include "target-collector/process/chain_cache.h"

#include <gtest/gtest.h>

#include <array>

namespace perfleet {
namespace {

TEST(ChainCache, ChainsOfOneHashStayApart) {
    ChainCache cache(16, 256);
    const std::array<std::uint64_t, 2> first{1, 2};
    const std::array<std::uint64_t, 2> second{3, 4};
    const std::array<std::uint64_t, 3> longer{1, 2, 3};
    constexpr std::uint64_t kHash = 5;
    cache.insert({{7, 0}, first, kHash}, {StackNumber{1}});
    EXPECT_EQ(cache.find({{7, 0}, second, kHash}), nullptr);
    EXPECT_EQ(cache.find({{7, 0}, longer, kHash}), nullptr);
    EXPECT_EQ(cache.find({{8, 0}, first, kHash}), nullptr);
    EXPECT_EQ(cache.find({{7, 1}, first, kHash}), nullptr);
    cache.insert({{7, 0}, second, kHash}, {StackNumber{2}, 3, 4});
    cache.insert({{7, 0}, longer, kHash}, {StackNumber{3}});
    cache.insert({{8, 0}, first, kHash}, {StackNumber{4}});
    EXPECT_EQ(cache.find({{7, 0}, first, kHash})->stack, StackNumber{1});
    EXPECT_EQ(cache.find({{7, 0}, second, kHash})->stack, StackNumber{2});
    EXPECT_EQ(cache.find({{7, 0}, second, kHash})->unmapped_count, 3);
    EXPECT_EQ(cache.find({{7, 0}, second, kHash})->truncated_count, 4);
    EXPECT_EQ(cache.find({{7, 0}, longer, kHash})->stack, StackNumber{3});
    EXPECT_EQ(cache.find({{8, 0}, first, kHash})->stack, StackNumber{4});
}

TEST(ChainCache, ForgetsEverythingRatherThanGrow) {
    ChainCache cache(4, 1'000);
    for (std::uint64_t i = 0; i < 100; ++i) {
        const std::array words{i, i + 1};
        const auto key = ChainCache::key_of({1, 0}, words);
        cache.insert(key, {StackNumber{static_cast<std::uint32_t>(i)}});
        ASSERT_NE(cache.find(key), nullptr);
        EXPECT_EQ(cache.find(key)->stack.value, i);
    }
    const std::array<std::uint64_t, 2> old{0, 1};
    EXPECT_EQ(cache.find(ChainCache::key_of({1, 0}, old)), nullptr);
}

TEST(ChainCache, LeavesOutWhatCanNeverFit) {
    ChainCache cache(4, 8);
    const std::array<std::uint64_t, 9> words{};
    const auto key = ChainCache::key_of({1, 0}, words);
    cache.insert(key, {StackNumber{1}});
    EXPECT_EQ(cache.find(key), nullptr);
}

}  // namespace
}  // namespace perfleet
