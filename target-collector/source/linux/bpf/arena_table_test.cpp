#include "target-collector/source/linux/bpf/arena_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace perfleet {
namespace {

// Its parts lie across several slabs, behind something else.
TEST(ArenaTable, IsFoundAsItWas) {
    std::ifstream file{"/usr/bin/python3.11", std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    const auto table = UnwindTable::of_image(
        [&](std::uint64_t offset, std::span<std::byte> into) {
            std::memcpy(into.data(), bytes.data() + offset, into.size());
            return true;
        },
        bytes.size());
    ASSERT_TRUE(table.ok());
    const std::uint32_t at = arena_aligned(UNWIND_SLAB_BYTES - 1'000);
    const std::uint64_t end = at + arena_table_bytes(*table);
    std::vector<std::vector<std::byte>> slabs((end + UNWIND_SLAB_BYTES - 1) / UNWIND_SLAB_BYTES,
                                              std::vector<std::byte>(UNWIND_SLAB_BYTES, std::byte{0xa5}));
    ASSERT_GT(slabs.size(), 1U);
    std::vector<std::byte*> places;
    for (auto& slab : slabs) {
        places.push_back(slab.data());
    }
    unwind_table written{};
    write_arena_table(*table, at, places, written);
    std::size_t found = 0;
    for (std::size_t row = 0; row < table->row_count(); ++row) {
        for (const std::uint64_t place : {table->place(row) - 1, table->place(row), table->place(row) + 3}) {
            const UnwindRule rule = rule_in_arena(written, places, place);
            ASSERT_EQ(rule, table->find(place)) << place;
            found += rule.cfa_base != CfaBase::kNone ? 1 : 0;
        }
    }
    EXPECT_GT(found, table->row_count());
    EXPECT_EQ(rule_in_arena(written, places, 0), UnwindRule{});
    EXPECT_EQ(slabs[0][at - 1], std::byte{0xa5}) << "what is before it isn't touched";
    EXPECT_EQ(slabs.back()[end & (UNWIND_SLAB_BYTES - 1)], std::byte{0xa5}) << "nor what is behind it";
}

}  // namespace
}  // namespace perfleet
