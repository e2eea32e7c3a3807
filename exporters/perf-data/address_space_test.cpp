#include "exporters/perf-data/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace perfleet {
namespace {

TEST(AddressSpace, FindsBytesOfImagesWhereTheyAreMapped) {
    AddressSpace space;
    EXPECT_TRUE(space.add({0x1000, 0x1000, 0x5000, 3}));
    EXPECT_EQ(space.find(3, 0x5000), 0x1000);
    EXPECT_EQ(space.find(3, 0x5fff), 0x1fff);
    EXPECT_EQ(space.find(3, 0x6000), std::nullopt);
    EXPECT_EQ(space.find(3, 0x4fff), std::nullopt);
    EXPECT_EQ(space.find(4, 0x5000), std::nullopt);
}

TEST(AddressSpace, SameMappingAgainIsNoNews) {
    AddressSpace space;
    EXPECT_TRUE(space.add({0x1000, 0x1000, 0, 1}));
    EXPECT_FALSE(space.add({0x1000, 0x1000, 0, 1}));
    EXPECT_TRUE(space.add({0x1000, 0x1000, 0, 2}));
    EXPECT_TRUE(space.add({0x1000, 0x1000, 0, 1}));
}

TEST(AddressSpace, RefusesEmptyAndWrappingMappings) {
    AddressSpace space;
    EXPECT_FALSE(space.add({0x1000, 0, 0, 1}));
    EXPECT_FALSE(space.add({~0ULL - 10, 100, 0, 1}));
}

TEST(AddressSpace, PlacesAreDifferentAndHoldTheOffset) {
    AddressSpace space;
    const auto first = space.place(1, 0x1234);
    const auto second = space.place(1, 1ULL << 40);
    ASSERT_TRUE(first && second);
    EXPECT_NE(first->start, second->start);
    EXPECT_EQ(space.find(1, 0x1234), first->start + 0x1234);
    EXPECT_EQ(space.find(1, 1ULL << 40), second->start);
}

// Against a map of single bytes.
TEST(AddressSpace, NewerMappingsCoverOlderOnes) {
    std::mt19937 random{11};
    for (int round = 0; round < 200; ++round) {
        AddressSpace space;
        std::map<std::uint64_t, std::pair<ExportedImage, std::uint64_t>> bytes;  // address → image, offset
        for (int step = 0; step < 40; ++step) {
            const ExportedMapping mapping{100 + random() % 200, 1 + random() % 60, random() % 3 * 50,
                                          static_cast<ExportedImage>(random() % 4)};
            static_cast<void>(space.add(mapping));
            for (std::uint64_t i = 0; i < mapping.size_bytes; ++i) {
                bytes[mapping.start + i] = {mapping.image, mapping.file_offset + i};
            }
        }
        std::map<std::pair<ExportedImage, std::uint64_t>, int> mapped;
        for (const auto& [address, place] : bytes) {
            ++mapped[place];
        }
        for (ExportedImage image = 0; image < 4; ++image) {
            for (std::uint64_t offset = 0; offset < 170; ++offset) {
                const auto address = space.find(image, offset);
                ASSERT_EQ(address.has_value(), mapped.contains({image, offset}));
                if (address) {
                    ASSERT_EQ(bytes[*address], std::pair(image, offset));
                }
            }
        }
    }
}

}  // namespace
}  // namespace perfleet
