#include "query-engine/symbol/go_functions.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/elf_symbols.h"

namespace perfleet {
namespace {

template <class Number>
void append(std::string& bytes, Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Two functions from 0x401000 on; the second has 32 bytes.
std::string section(std::uint32_t magic = 0xffff'fff1) {
    const std::string names{"runtime.text\0main.(*T).run[...]\0", 32};
    std::string functions;
    for (const std::uint32_t word : {0U, 20U, 16U, 28U, 48U}) {
        append(functions, word);
    }
    for (const std::uint32_t word : {0U, 0U, 16U, 13U}) {
        append(functions, word);
    }
    std::string bytes;
    append(bytes, magic);
    bytes += std::string{"\0\0\x01\x08", 4};
    for (const std::uint64_t word : {std::uint64_t{2}, std::uint64_t{0}, std::uint64_t{0x40'1000}, std::uint64_t{72},
                                     std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{0}, 72 + names.size()}) {
        append(bytes, word);
    }
    return bytes + names + functions;
}

TEST(GoFunctions, AreFoundWithTheirEnds) {
    for (const std::uint32_t magic : {0xffff'fff0U, 0xffff'fff1U}) {
        const std::string bytes = section(magic);
        const auto functions = go_functions(bytes);
        ASSERT_EQ(functions.size(), 2U);
        EXPECT_EQ(functions[0].address, 0x40'1000U);
        EXPECT_EQ(functions[0].end, 0x40'1010U);
        EXPECT_EQ(functions[0].name, "runtime.text");
        EXPECT_EQ(functions[1].address, 0x40'1010U);
        EXPECT_EQ(functions[1].end, 0x40'1030U);
        EXPECT_EQ(functions[1].name, "main.(*T).run[...]");
    }
}

TEST(GoFunctions, OfAnotherFormatArentGuessed) {
    EXPECT_TRUE(go_functions(section(0xffff'fffa)).empty()) << "Go 1.16";
    std::string narrow = section();
    narrow[7] = 4;
    EXPECT_TRUE(go_functions(narrow).empty()) << "of 32 bits";
    std::string moved = section();
    std::memset(moved.data() + 24, 0, 8);
    EXPECT_TRUE(go_functions(moved).empty()) << "where the text begins isn't said";
    std::string many = section();
    std::memset(many.data() + 8, 0xff, 8);
    EXPECT_TRUE(go_functions(many).empty());
}

TEST(GoFunctions, TruncatedAnywhereGivesNoCrash) {
    const std::string bytes = section();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const std::string cut = bytes.substr(0, size);
        EXPECT_LE(go_functions(cut).size(), 2U);
    }
}

// Its ELF header says where the program begins; that is a function of Go's run-time, by a name of the machine.
TEST(GoFunctions, NameAStrippedProgramOfDebian) {
    const auto file = ElfFile::open("/usr/bin/shfmt");
    ASSERT_TRUE(file.ok()) << "tools/setup installs it: " << file.error().message;
    EXPECT_FALSE((*file)->find_section(".symtab"));
    Elf64_Ehdr header{};
    std::ifstream{"/usr/bin/shfmt", std::ios::binary}.read(reinterpret_cast<char*>(&header), sizeof(header));
    std::uint64_t offset = 0;
    for (const ElfSegment& segment : (*file)->segments()) {
        if (header.e_entry >= segment.address && header.e_entry - segment.address < segment.size_bytes) {
            offset = header.e_entry - segment.address + segment.file_offset;
        }
    }
    const SymbolTable symbols = symbols_of_elf(**file, **file);
    SymbolTable::Hit hit;
    ASSERT_TRUE(symbols.find(offset, hit));
    EXPECT_TRUE(hit.name.starts_with("_rt0_") && hit.name.ends_with("_linux")) << hit.name;
    EXPECT_EQ(hit.start, offset);
}

}  // namespace
}  // namespace perfleet
