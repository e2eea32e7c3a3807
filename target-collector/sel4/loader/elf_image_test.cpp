#include "target-collector/sel4/loader/elf_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace perfleet::sel4 {
namespace {

using Bytes = std::vector<std::byte>;

void put(Bytes& file, std::size_t offset, std::uint64_t value, std::size_t size_bytes) {
    for (std::size_t i = 0; i < size_bytes; ++i) {
        file[offset + i] = static_cast<std::byte>(value >> (8 * i));
    }
}

struct Part {
    std::uint32_t type;
    std::uint64_t offset, address, physical, file_size, memory_size;
};

// A header at 0, program headers at 64, then their contents.
Bytes elf_of(const std::vector<Part>& parts, std::size_t size_bytes) {
    Bytes file(size_bytes);
    const char magic[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    std::memcpy(file.data(), magic, sizeof magic);
    put(file, 24, 0x401000, 8);
    put(file, 32, 64, 8);
    put(file, 54, 56, 2);
    put(file, 56, parts.size(), 2);
    std::size_t at = 64;
    for (const Part& part : parts) {
        put(file, at, part.type, 4);
        put(file, at + 8, part.offset, 8);
        put(file, at + 16, part.address, 8);
        put(file, at + 24, part.physical, 8);
        put(file, at + 32, part.file_size, 8);
        put(file, at + 40, part.memory_size, 8);
        at += 56;
    }
    return file;
}

TEST(ElfImage, KnowsWhatIsLoadedWhere) {
    const Bytes file = elf_of({{1, 400, 0x401000, 0x40000000, 8, 0x2000},
                               {0x6474e551, 0, 0, 0, 0, 0},
                               {1, 0, 0x400000, 0x3ffff000, 100, 100},
                               {1, 0, 0x900000, 0, 0, 0}},
                              500);
    const auto image = ElfImage::open(file);
    ASSERT_TRUE(image.ok());
    EXPECT_EQ(image->entry(), 0x401000U);
    ASSERT_EQ(image->segments().size(), 2U);
    EXPECT_EQ(image->segments()[0].physical_address, 0x40000000U);
    EXPECT_EQ(image->segments()[0].content.data(), file.data() + 400);
    EXPECT_EQ(image->segments()[0].content.size(), 8U);
    EXPECT_EQ(image->segments()[0].size_bytes, 0x2000U);
    EXPECT_EQ(image->begin(), 0x400000U);
    EXPECT_EQ(image->end(), 0x403000U);
}

TEST(ElfImage, SaysWhatIsWrongWithAFile) {
    const auto code_of = [](const Bytes& file) { return ElfImage::open(file).error().code; };
    EXPECT_EQ(code_of({}), ErrorCode::kInvalid);
    EXPECT_EQ(code_of(Bytes(64)), ErrorCode::kInvalid);
    EXPECT_EQ(code_of(elf_of({}, 500)), ErrorCode::kInvalid) << "nothing to load";
    Bytes of_32_bits = elf_of({{1, 0, 0, 0, 1, 1}}, 500);
    of_32_bits[4] = std::byte{1};
    EXPECT_EQ(code_of(of_32_bits), ErrorCode::kInvalid);
    EXPECT_EQ(code_of(elf_of({{1, 499, 0, 0, 2, 2}}, 500)), ErrorCode::kTruncated);
    EXPECT_EQ(code_of(elf_of({{1, ~0ULL, 0, 0, 2, 2}}, 500)), ErrorCode::kTruncated);
    EXPECT_EQ(code_of(elf_of({{1, 0, ~0ULL, 0, 2, 2}}, 500)), ErrorCode::kInvalid);
    EXPECT_EQ(code_of(elf_of({{1, 0, 0, 0, 2, 1}}, 500)), ErrorCode::kInvalid);
    EXPECT_EQ(code_of(elf_of(std::vector<Part>(17, Part{1, 0, 0, 0, 1, 1}), 2'000)), ErrorCode::kTooLarge);
    Bytes cut = elf_of({{1, 0, 0, 0, 1, 1}}, 500);
    cut.resize(100);
    EXPECT_EQ(code_of(cut), ErrorCode::kTruncated);
}

TEST(ElfImage, BytesOfAnySortAreReadWithinTheirBounds) {
    std::mt19937_64 random{4};
    for (int i = 0; i < 20'000; ++i) {
        Bytes file = elf_of({{1, 400, 0x401000, 0x40000000, 8, 0x2000}, {1, 0, 0x400000, 0, 100, 100}}, 500);
        for (std::uint64_t changes = 1 + random() % 6; changes > 0; --changes) {
            file[random() % 200] = static_cast<std::byte>(random());
        }
        file.resize(random() % 3 == 0 ? random() % 500 : 500);
        const Bytes exact(file);
        if (const auto image = ElfImage::open(exact); image.ok()) {
            for (const ElfSegment& segment : image->segments()) {
                EXPECT_GE(segment.content.data(), exact.data());
                EXPECT_LE(segment.content.data() + segment.content.size(), exact.data() + exact.size());
            }
        }
    }
}

}  // namespace
}  // namespace perfleet::sel4
