#include "target-collector/process/unwind/table_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace perfleet {
namespace {

UnwindTable table_of_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    auto table = UnwindTable::of_image(
        [&](std::uint64_t offset, std::span<std::byte> into) {
            std::memcpy(into.data(), text.data() + offset, into.size());
            return true;
        },
        text.size());
    EXPECT_TRUE(table.ok());
    return std::move(*table);
}

Result<UnwindTable> read(const std::string& bytes) { return unwind_table_of_bytes(std::as_bytes(std::span{bytes})); }

// A table without rows: its header and the rule of code that has none.
std::string smallest() {
    std::string bytes(kUnwindTableHeaderBytes + kUnwindRuleBytes, '\0');
    std::memcpy(bytes.data(), "PFUT", 4);
    bytes[4] = 1;   // version
    bytes[12] = 1;  // rules
    return bytes;
}

TEST(TableBytes, ATableComesBack) {
    const UnwindTable table = table_of_file("/usr/bin/git");
    const std::string bytes = unwind_table_bytes(table);
    EXPECT_LE(bytes.size(), kUnwindTableBytesMax);
    const auto again = read(bytes);
    ASSERT_TRUE(again.ok()) << again.error().message;
    ASSERT_EQ(again->row_count(), table.row_count());
    EXPECT_GT(table.row_count(), 10'000U);
    EXPECT_EQ(again->machine(), table.machine());
    EXPECT_EQ(again->refused_count(), table.refused_count());
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        ASSERT_EQ(again->place(row), table.place(row));
        ASSERT_EQ(again->rule(row), table.rule(row));
    }
    EXPECT_EQ(unwind_table_bytes(*again), bytes);
}

TEST(TableBytes, TheFormatStays) {
    const auto table = read(smallest());
    ASSERT_TRUE(table.ok()) << table.error().message;
    EXPECT_EQ(table->row_count(), 0U);
    EXPECT_EQ(table->find(7), UnwindRule{});
    EXPECT_EQ(unwind_table_bytes(*table), smallest());
}

TEST(TableBytes, AnotherVersionIsRefusedByNumber) {
    std::string bytes = smallest();
    bytes[4] = 2;
    const auto table = read(bytes);
    ASSERT_FALSE(table.ok());
    EXPECT_EQ(table.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(table.error().message.find("version 2"), std::string::npos);
}

TEST(TableBytes, WhatIsCutIsRefused) {
    const std::string bytes = unwind_table_bytes(table_of_file("/usr/bin/xz"));
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{31}, std::size_t{32}, std::size_t{100}, bytes.size() - 1}) {
        EXPECT_FALSE(read(bytes.substr(0, size)).ok()) << size;
    }
    EXPECT_FALSE(read(bytes + "x").ok());
}

// A reader that finds a rule uses it without a check.
TEST(TableBytes, NumbersThatNoTableHasAreRefused) {
    const std::size_t first_rule = kUnwindTableHeaderBytes;
    const std::size_t second_rule = first_rule + kUnwindRuleBytes;
    std::string two_rules = smallest() + std::string(kUnwindRuleBytes, '\0');
    two_rules[12] = 2;
    ASSERT_TRUE(read(two_rules).ok());
    for (const auto& [at, value] : {std::pair{std::size_t{0}, 'X'},
                                    {std::size_t{8}, '\2'},
                                    {std::size_t{12}, '\0'},
                                    {first_rule, '\1'},
                                    {second_rule, '\x8'},
                                    {second_rule + 1, '\4'},
                                    {second_rule + 2, '\4'},
                                    {second_rule + 3, '\2'},
                                    {second_rule + 4, '\5'},
                                    {second_rule + 5, '\1'}}) {
        std::string bytes = two_rules;
        bytes[at] = value;
        EXPECT_FALSE(read(bytes).ok()) << at;
    }
    std::string counts = smallest();
    std::memset(counts.data() + 16, 0xff, 8);  // rows: their size in bytes is beyond 64 bits
    EXPECT_FALSE(read(counts).ok());
}

TEST(TableBytes, RowsAscendAndHaveARule) {
    const auto with_rows = [](std::uint32_t first, std::uint32_t second, std::uint16_t rule) {
        std::string bytes = smallest();
        bytes[16] = 2;
        bytes.append(reinterpret_cast<const char*>(&first), sizeof(first));
        bytes.append(reinterpret_cast<const char*>(&second), sizeof(second));
        bytes.append(2, '\0');
        bytes.append(reinterpret_cast<const char*>(&rule), sizeof(rule));
        return bytes;
    };
    EXPECT_TRUE(read(with_rows(16, 32, 0)).ok());
    EXPECT_FALSE(read(with_rows(32, 16, 0)).ok());
    EXPECT_FALSE(read(with_rows(16, 32, 1)).ok());
}

}  // namespace
}  // namespace perfleet
