// Blocks of every kind of rows, as sealed and compacted, of tests/golden/store/kinds.hex: a line each, `kind
// sealed|compacted hexadecimal digits`. A kind without lines fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "schemas/text/hex.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/block/block.h"
#include "storage/block/block_compactor.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/golden/golden_file.h"

namespace perfleet::golden_kinds_test {
namespace {

constexpr TargetId kTarget{17};
constexpr SessionId kSession{0xabc, 0xdef};
constexpr BucketNumber kBucket{480'001};
constexpr std::uint64_t kRows = 5;
constexpr std::uint64_t kBatches = 2;

// What that row has in the column: the column's smallest and greatest value among others.
std::uint64_t value_of(const ColumnRule& rule, std::uint64_t row) {
    if (rule.id == ColumnId::kTime) {
        return 1'000'000 + 1'000 * row + row % 3;
    }
    const std::uint64_t range = rule.max - rule.min;
    const std::uint64_t mixed = (static_cast<std::uint64_t>(rule.id) * 31 + row * 7) * 0x9e37'79b9'7f4a'7c15 >> 20;
    return row == 0           ? rule.min
           : row + 1 == kRows ? rule.max
                              : rule.min + (range == ~0ULL ? mixed : mixed % (range + 1));
}

std::string text_of(const ColumnRule& rule, std::uint64_t row) {
    return row == 0 ? std::string{}
                    : "column " + std::to_string(static_cast<unsigned>(rule.id)) + " row " + std::to_string(row);
}

bool is_size(Kind kind, ColumnId id) {
    const std::span<const ColumnRule> rules = columns_of(kind);
    return std::any_of(rules.begin(), rules.end(),
                       [&](const ColumnRule& rule) { return rule.shape == ColumnShape::kBytes && rule.sizes == id; });
}

std::string sealed_block(Kind kind, std::uint64_t batch_number) {
    SampleBatch batch{kTarget, kSession, Seq{1 + batch_number}, EpochNumber{0}, kBucket};
    SampleIntegers integers;
    SampleBytes bytes;
    for (const ColumnRule& rule : columns_of(kind)) {
        for (std::uint64_t row = 0; row < kRows; ++row) {
            if (rule.shape == ColumnShape::kBytes) {
                bytes[rule.id].push_back(text_of(rule, row));
            } else if (!is_size(kind, rule.id)) {
                integers[rule.id].push_back(value_of(rule, row));
            }
        }
    }
    const KindTraits& traits = kKindTable[static_cast<std::size_t>(kind)];
    batch.add({kind, traits.needs_event ? EventNumber{3} : kNoEvent}, integers, bytes);
    const AdmittedBatch built = batch.build();
    return built.series.size() == 1 ? built.series[0].block : std::string{};
}

std::string compacted_block(Kind kind) {
    BlockCompactor compactor;
    for (std::uint64_t i = 0; i < kBatches; ++i) {
        const std::string block = sealed_block(kind, i);
        const auto view = parse_block_untrusted(block);
        if (!view.ok() || compactor.take(*view, block.size()) != BlockCompactor::Outcome::kTaken) {
            return {};
        }
    }
    return compactor.finish().value_or("");
}

std::map<std::string, std::string> golden_blocks() {
    std::map<std::string, std::string> blocks;
    std::istringstream lines{golden_file("store/kinds.hex")};
    for (std::string kind, form, digits; lines >> kind >> form >> digits;) {
        blocks[kind + ' ' + form] = bytes_of_hex(digits).value_or("");
    }
    return blocks;
}

class GoldenKind : public testing::TestWithParam<unsigned> {};

TEST_P(GoldenKind, IsWrittenAndReadAsEver) {
    const auto kind = static_cast<Kind>(GetParam());
    const std::string name{kind_name(kind)};
    const auto golden = golden_blocks();
    const std::map<std::string, std::string> today{{name + " sealed", sealed_block(kind, 0)},
                                                   {name + " compacted", compacted_block(kind)}};
    for (const auto& [line, block] : today) {
        ASSERT_FALSE(block.empty()) << line;
        ASSERT_TRUE(golden.contains(line)) << "tests/golden/store/kinds.hex lacks\n" << line << ' ' << hex_of(block);
        EXPECT_EQ(hex_of(block), hex_of(golden.at(line))) << line;
        const auto view = parse_block_untrusted(golden.at(line));
        ASSERT_TRUE(view.ok()) << line << ": " << view.error().message;
        const std::uint64_t batches = line.ends_with("compacted") ? kBatches : 1;
        ASSERT_EQ(view->header.row_count, kRows * batches) << line;
        DecodedRows rows;
        ASSERT_TRUE(rows.decode(*view).ok()) << line;
        for (const ColumnRule& rule : columns_of(kind)) {
            for (std::uint64_t row = 0; row < kRows * batches; ++row) {
                if (rule.shape == ColumnShape::kBytes) {
                    EXPECT_EQ(rows.bytes(rule.id, row), text_of(rule, row % kRows)) << line;
                } else if (!is_size(kind, rule.id)) {
                    EXPECT_EQ(rows.integers(rule.id)[row], value_of(rule, row % kRows)) << line;
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(OfRows, GoldenKind, testing::Range(unsigned{kKindFirst}, unsigned{kKindLast} + 1),
                         [](const auto& one) { return std::string{kind_name(static_cast<Kind>(one.param))}; });

}  // namespace
}  // namespace perfleet::golden_kinds_test
