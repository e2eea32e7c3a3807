#include "exporters/rows/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace perfleet {
namespace {

std::optional<std::uint64_t> address_of(AddressSpace& space, ExportedImage image, std::uint64_t offset) {
    const auto index = space.find(image, offset);
    if (!index) {
        return std::nullopt;
    }
    const ExportedMapping& mapping = space.mapping(*index);
    EXPECT_EQ(space.find_address(mapping.start)->image, image);
    return mapping.start + (offset - mapping.file_offset);
}

TEST(AddressSpace, FindsBytesOfImagesWhereTheyAreMapped) {
    AddressSpace space;
    EXPECT_TRUE(space.add({0x1000, 0x1000, 0x5000, 3}));
    EXPECT_EQ(address_of(space, 3, 0x5000), 0x1000);
    EXPECT_EQ(address_of(space, 3, 0x5fff), 0x1fff);
    EXPECT_EQ(address_of(space, 3, 0x6000), std::nullopt);
    EXPECT_EQ(address_of(space, 3, 0x4fff), std::nullopt);
    EXPECT_EQ(address_of(space, 4, 0x5000), std::nullopt);
}

TEST(AddressSpace, FindsTheNewestOfSeveralMappings) {
    AddressSpace space;
    EXPECT_TRUE(space.add({0x9000, 0x1000, 0x5000, 3}));
    EXPECT_TRUE(space.add({0x1000, 0x1000, 0x5000, 3}));
    EXPECT_EQ(address_of(space, 3, 0x5004), 0x1004);
    EXPECT_TRUE(space.add({0x7000, 0x2000, 0x4000, 3}));
    EXPECT_EQ(address_of(space, 3, 0x5004), 0x8004);
    EXPECT_EQ(address_of(space, 3, 0x4004), 0x7004);
}

TEST(AddressSpace, FindsCodeBeforeNewerDataOfTheSameBytes) {
    AddressSpace space;
    EXPECT_TRUE(space.add({0x1000, 0x1000, 0x5000, 3, 5}));
    EXPECT_TRUE(space.add({0x9000, 0x1000, 0x5000, 3, 1}));
    EXPECT_EQ(address_of(space, 3, 0x5004), 0x1004);
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
    ASSERT_TRUE(space.place(1, 0x1234));
    ASSERT_TRUE(space.place(1, 1ULL << 40));
    const auto first = address_of(space, 1, 0x1234);
    const auto second = address_of(space, 1, 1ULL << 40);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first % 0x10000, 0x1234U);
    EXPECT_NE(*first - 0x1234, *second);
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
                const auto address = address_of(space, image, offset);
                ASSERT_EQ(address.has_value(), mapped.contains({image, offset}));
                if (address) {
                    ASSERT_EQ(bytes[*address], std::pair(image, offset));
                }
            }
        }
        for (std::uint64_t address = 90; address < 370; ++address) {
            const ExportedMapping* const mapping = space.find_address(address);
            ASSERT_EQ(mapping != nullptr, bytes.contains(address));
            if (mapping != nullptr) {
                ASSERT_EQ(bytes[address], std::pair(mapping->image, address - mapping->start + mapping->file_offset));
            }
        }
    }
}

}  // namespace
}  // namespace perfleet
