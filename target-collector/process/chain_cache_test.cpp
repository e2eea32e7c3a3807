#include "target-collector/process/chain_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace perfleet {
namespace {

TEST(ChainCache, ChainsThatDifferInAnyPartStayApart) {
    ChainCache cache(1'000);
    std::vector<ChainCache::Key> keys;
    const auto insert = [&](ChainCache::Meaning meaning, const std::vector<std::uint64_t>& words) {
        keys.push_back(cache.key_of(meaning, words));
        EXPECT_EQ(cache.find(keys.back()), nullptr) << keys.size();
        cache.insert(keys.back(), {StackNumber{static_cast<std::uint32_t>(keys.size())}, 3, 4});
    };
    const std::vector<std::uint64_t> words{1, 2, 3};
    insert({7, 0}, words);
    insert({8, 0}, words);
    insert({7, 1}, words);
    insert({0, 7}, words);
    for (const std::vector<std::uint64_t>& other : {std::vector<std::uint64_t>{},
                                                    {0},
                                                    {1},
                                                    {1, 2},
                                                    {2, 1},
                                                    {1, 2, 0},
                                                    {1, 2, 3, 0},
                                                    {1, 2, 3, 4},
                                                    {3, 2, 1},
                                                    {0, 0}}) {
        insert({7, 0}, other);
    }
    for (std::uint32_t i = 0; i < 64; ++i) {
        insert({7, 0}, {1, 2, 3 ^ std::uint64_t{1} << i, 4, 5});
        insert({7, 0}, {1, 2, 3, 4 ^ std::uint64_t{1} << i, 5});
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_NE(cache.find(keys[i]), nullptr);
        EXPECT_EQ(cache.find(keys[i])->stack.value, i + 1);
        EXPECT_EQ(cache.find(keys[i])->unmapped_count, 3);
        EXPECT_EQ(cache.find(keys[i])->truncated_count, 4);
    }
}

// Words are the values of a program that may want its chains to be taken for others.
TEST(ChainCache, KeysCannotBeForeseen) {
    const std::vector<std::uint64_t> words{1, 2, 3};
    const auto first = ChainCache(4).key_of({7, 0}, words);
    const auto second = ChainCache(4).key_of({7, 0}, words);
    EXPECT_NE(first.slot_hash, second.slot_hash);
    EXPECT_NE(first.check, second.check);
}

TEST(ChainCache, ForgetsEverythingRatherThanGrow) {
    ChainCache cache(4);
    for (std::uint64_t i = 0; i < 100; ++i) {
        const std::array words{i, i + 1};
        const auto key = cache.key_of({1, 0}, words);
        cache.insert(key, {StackNumber{static_cast<std::uint32_t>(i)}});
        ASSERT_NE(cache.find(key), nullptr);
        EXPECT_EQ(cache.find(key)->stack.value, i);
    }
    const std::array<std::uint64_t, 2> old{0, 1};
    EXPECT_EQ(cache.find(cache.key_of({1, 0}, old)), nullptr);
}

}  // namespace
}  // namespace perfleet
