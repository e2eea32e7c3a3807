#include "target-collector/bare-metal/device_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace perfleet::bare_metal {
namespace {

std::string word(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) {
        bytes += static_cast<char>(value >> shift);
    }
    return bytes;
}
std::string padded(std::string bytes) {
    bytes.resize((bytes.size() + 3) / 4 * 4);
    return bytes;
}
std::string begin_node(const std::string& name) { return word(1) + padded(name + '\0'); }
std::string end_node() { return word(2); }

// Names of properties: at 0 "other", at 6 "rng-seed".
const std::string kStrings{"other\0rng-seed\0", 15};
std::string property(std::uint32_t name, const std::string& value) {
    return word(3) + word(static_cast<std::uint32_t>(value.size())) + word(name) + padded(value);
}
std::string tree_of(const std::string& structure) {
    constexpr std::uint32_t kHeader = 40;
    const auto size = static_cast<std::uint32_t>(structure.size());
    const auto strings = static_cast<std::uint32_t>(kStrings.size());
    return word(0xd00dfeed) + word(kHeader + size + strings) + word(kHeader) + word(kHeader + size) + word(0) +
           word(17) + word(16) + word(0) + word(strings) + word(size) + structure + kStrings;
}

const std::string kSeed(32, 's');
const std::string kStructure = begin_node("") + property(6, std::string(32, 'r')) + begin_node("cpus") +
                               property(6, std::string(32, 'c')) + begin_node("chosen") +
                               property(6, std::string(32, 'd')) + end_node() + end_node() + begin_node("chosen") +
                               word(4) + property(0, "short") + property(6, kSeed) + end_node() + end_node() + word(9);

std::string seed_of(const std::string& tree) {
    const auto seed = find_seed(std::as_bytes(std::span{tree}));
    return seed.ok() ? std::string{reinterpret_cast<const char*>(seed->data()), seed->size()} : "";
}

TEST(DeviceTree, FindsTheSeedOfTheChosenNodeAtTheRoot) { EXPECT_EQ(seed_of(tree_of(kStructure)), kSeed); }

TEST(DeviceTree, FindsAnyPropertyOfTheChosenNode) {
    const std::string tree = tree_of(kStructure);
    const auto bytes = std::as_bytes(std::span{tree});
    const auto other = find_chosen(bytes, "other", 5);
    ASSERT_TRUE(other.ok());
    EXPECT_EQ(other->size(), 5U);
    EXPECT_FALSE(find_chosen(bytes, "other", 6).ok());
    EXPECT_FALSE(find_chosen(bytes, "oth", 0).ok());
}

TEST(DeviceTree, FindsNoneWhereThereIsNone) {
    EXPECT_EQ(seed_of(tree_of(begin_node("") + begin_node("chosen") + end_node() + end_node() + word(9))), "");
    EXPECT_EQ(seed_of(tree_of(begin_node("") + begin_node("chosen") + property(6, "too short") + word(9))), "");
    EXPECT_EQ(seed_of(""), "");
    EXPECT_EQ(seed_of(std::string(100, 'x')), "");
}

TEST(DeviceTree, NeverReadsBeyondATreeThatIsCutOrDamaged) {
    const std::string tree = tree_of(kStructure);
    for (std::size_t size = 0; size < tree.size(); ++size) {
        const std::vector<char> cut(tree.begin(), tree.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_FALSE(find_seed(std::as_bytes(std::span{cut})).ok());
    }
    for (std::size_t at = 0; at < tree.size(); ++at) {
        for (const char damage : {'\0', '\1', '\xff'}) {
            std::string damaged = tree;
            damaged[at] = damage;
            const std::string seed = seed_of(damaged);
            EXPECT_TRUE(seed.empty() || seed.size() >= 16) << at;
        }
    }
}

}  // namespace
}  // namespace perfleet::bare_metal
