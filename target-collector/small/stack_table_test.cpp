#include "target-collector/small/stack_table.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <tuple>

namespace perfleet::stack_table_test {
namespace {

TEST(StackTable, NumbersNodesAsAMapDoes) {
    const auto table = std::make_unique<StackTable>();
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> expected;
    std::mt19937_64 random{3};
    for (int i = 0; i < 20'000; ++i) {
        const StackNumber caller{static_cast<std::uint32_t>(random() % 8)};
        const ImageNumber image{static_cast<std::uint32_t>(random() % 2)};
        const std::uint64_t offset = random() % 40 * 4;
        const auto next = static_cast<std::uint32_t>(expected.size()) + 1;
        const auto [found, is_new] = expected.emplace(std::tuple{caller.value, image.value, offset}, next);
        const StackTable::Interned interned = table->intern(caller, image, offset);
        ASSERT_EQ(interned.number, StackNumber{found->second});
        ASSERT_EQ(interned.is_new, is_new);
    }
    ASSERT_EQ(expected.size(), 640U);
}

TEST(StackTable, SaysWhenItIsFullAndStillKnowsWhatItHas) {
    const auto table = std::make_unique<StackTable>();
    for (std::uint32_t i = 0; i < StackTable::kNodesMax; ++i) {
        ASSERT_TRUE(table->intern(kEmptyStack, ImageNumber{0}, std::uint64_t{i} << 32).is_new);
    }
    EXPECT_EQ(table->intern(kEmptyStack, ImageNumber{1}, 0).number, kEmptyStack);
    EXPECT_EQ(table->intern(kEmptyStack, ImageNumber{0}, std::uint64_t{5} << 32).number, StackNumber{6});
    table->clear();
    const StackTable::Interned first = table->intern(kEmptyStack, ImageNumber{1}, 0);
    EXPECT_TRUE(first.is_new);
    EXPECT_EQ(first.number, StackNumber{1});
}

}  // namespace
}  // namespace perfleet::stack_table_test
