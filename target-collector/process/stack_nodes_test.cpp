#include "target-collector/process/stack_nodes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

namespace perfleet {
namespace {

TEST(StackNodes, NumbersNodesInTheOrderOfFirstUse) {
    StackNodes nodes(1'000);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t> model;
    std::mt19937_64 random{3};
    for (int i = 0; i < 20'000; ++i) {
        const StackNodes::Node node{random() % 30, StackNumber{static_cast<std::uint32_t>(random() % 5)},
                                    ImageNumber{static_cast<std::uint32_t>(random() % 4)}};
        const auto [entry, is_new] = model.emplace(std::tuple{node.parent.value, node.image.value, node.offset},
                                                   static_cast<std::uint32_t>(model.size()) + 1);
        const auto found = nodes.intern(node);
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->is_new, is_new);
        EXPECT_EQ(found->number.value, entry->second);
    }
    EXPECT_EQ(nodes.node_count(), model.size());
}

TEST(StackNodes, FullTableStillKnowsItsNodes) {
    StackNodes nodes(4);
    for (std::uint64_t offset = 0; offset < 4; ++offset) {
        ASSERT_TRUE(nodes.intern({offset, {}, {}}).has_value());
    }
    EXPECT_FALSE(nodes.intern({4, {}, {}}).has_value());
    const auto known = nodes.intern({2, {}, {}});
    ASSERT_TRUE(known.has_value());
    EXPECT_FALSE(known->is_new);
    nodes.clear();
    EXPECT_TRUE(nodes.intern({4, {}, {}})->is_new);
    EXPECT_EQ(nodes.node_count(), 1U);
}

}  // namespace
}  // namespace perfleet
