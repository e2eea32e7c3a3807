#include "query-engine/symbol/kernel_symbols.h"

#include <gtest/gtest.h>

#include <string>

namespace perfleet::kernel_symbols_test {
namespace {

std::string name_at(const SymbolTable& table, std::uint64_t offset) {
    SymbolTable::Hit hit;
    return table.find(offset, hit) ? std::string{hit.name} + "@" + std::to_string(hit.start) : "none";
}

SymbolTable table_of(std::string_view text) {
    std::uint64_t bad_lines = 0;
    auto table = symbols_of_kernel(text, bad_lines);
    EXPECT_TRUE(table.ok());
    EXPECT_EQ(bad_lines, 0U);
    return std::move(*table);
}

TEST(KernelSymbols, ReachUpToTheNext) {
    const SymbolTable table = table_of("0 T first\n40 t second\n100 W third\n");
    EXPECT_EQ(name_at(table, 0), "first@0");
    EXPECT_EQ(name_at(table, 0x3f), "first@0");
    EXPECT_EQ(name_at(table, 0x40), "second@64");
    EXPECT_EQ(name_at(table, 0x100), "third@256");
}

TEST(KernelSymbols, LastReachesToTheEndOfThePageBehind) {
    const SymbolTable table = table_of("10 T first\n1010 T last\n");
    EXPECT_EQ(name_at(table, 0x2fff), "last@4112");
    EXPECT_EQ(name_at(table, 0x3000), "none");
    EXPECT_EQ(name_at(table, 0xf), "none");
}

TEST(KernelSymbols, TakesTextAndDataNotAbsolute) {
    const SymbolTable table = table_of("0 T text\n8 A absolute\n10 D data\n18 t $x\n20 V weak_object\n");
    EXPECT_EQ(name_at(table, 8), "text@0");
    EXPECT_EQ(name_at(table, 0x10), "data@16");
    EXPECT_EQ(name_at(table, 0x20), "data@16");
}

// The last of those at one address is the only one with a size, and a size counts before all else.
TEST(KernelSymbols, OfAliasesTheLastIsShown) {
    const SymbolTable table = table_of("0 T global\n0 t last\n8 T next\n");
    EXPECT_EQ(name_at(table, 0), "last@0");
}

TEST(KernelSymbols, CountsLinesThatCannotBeRead) {
    std::uint64_t bad_lines = 0;
    const auto table =
        symbols_of_kernel("zz T name\n0 T good\n8\n8 T \n8T x\nffffffffffffffffff T large\n\n", bad_lines);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(bad_lines, 6U);
    EXPECT_EQ(name_at(*table, 8), "good@0");
}

}  // namespace
}  // namespace perfleet::kernel_symbols_test
