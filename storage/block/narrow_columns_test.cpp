#include "storage/block/narrow_columns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

using Values = std::vector<std::uint64_t>;

// A block of samples whose threads are these, in the codec that takes least.
std::string block_of(const Values& tids, Codec newest) {
    std::vector<std::byte> bytes(encoded_size_bytes_max(tids.size()));
    const auto encoded = encode_integers(tids, bytes, newest);
    PERFLEET_ASSERT(encoded.ok());
    const ColumnView column{ColumnId::kTid, encoded->codec, std::span{bytes}.first(encoded->size_bytes)};
    BlockHeader header;
    header.series = {Kind::kSample, EventNumber{0}};
    header.first_seq = header.last_seq = Seq{1};
    header.row_count = static_cast<std::uint32_t>(tids.size());
    return encode_block(header, {&column, 1});
}

std::vector<Values> shapes() {
    std::mt19937_64 random{7};
    std::vector<Values> all{{}, {5}, Values(16'000, 3), Values(257, 0xffff'ffff)};
    Values sorted;
    Values skewed;
    Values runs;
    Values any;
    Values far;
    for (std::uint64_t i = 0; i < 5'000; ++i) {
        sorted.push_back(10 + i * 3 + random() % 3);
        skewed.push_back(random() % (1 + random() % 4'096));
        runs.insert(runs.end(), random() % 30, random() % 20);
        any.push_back(random() & 0xffff'ffffU);
        far.push_back(random() % 50 == 0 ? 0xffff'0000 + random() % 100 : random() % 16);
    }
    for (Values* values : {&sorted, &skewed, &runs, &any, &far}) {
        values->resize(std::min<std::size_t>(values->size(), 16'000));
        all.push_back(*values);
    }
    return all;
}

TEST(NarrowColumns, AreTheValuesInEveryCodec) {
    std::set<Codec> seen;
    for (const Values& values : shapes()) {
        for (const Codec newest : {kCommonCodec, kNewestCodec}) {
            const std::string bytes = block_of(values, newest);
            const auto block = parse_block_untrusted(bytes, BlockCheck::kWhenDecoded);
            ASSERT_TRUE(block.ok());
            seen.insert(block->columns.front().codec);
            NarrowColumn narrow;
            ASSERT_TRUE(decode_narrow(*block, ColumnId::kTid, narrow).ok());
            EXPECT_EQ(Values(narrow.values.begin(), narrow.values.end()), values);
            std::uint32_t bits = 0;
            for (const std::uint32_t value : narrow.values) {
                bits |= value;
            }
            EXPECT_EQ(narrow.bits, bits);

            std::vector<ValueRun> runs;
            ASSERT_TRUE(decode_runs(*block, ColumnId::kTid, runs).ok());
            Values of_runs;
            for (const ValueRun& run : runs) {
                EXPECT_GT(run.end, of_runs.size());
                of_runs.resize(run.end, run.value);
            }
            EXPECT_EQ(of_runs, values);
        }
    }
    EXPECT_EQ(seen,
              (std::set{Codec::kFrameOfReference, Codec::kDelta, Codec::kRuns, Codec::kPatched, Codec::kDictionary}));
}

TEST(NarrowColumns, OfGreaterValuesAreRefused) {
    const std::string bytes = block_of({1, 2, std::uint64_t{1} << 32U}, kNewestCodec);
    const auto block = parse_block_untrusted(bytes);
    NarrowColumn narrow;
    std::vector<ValueRun> runs;
    EXPECT_EQ(decode_narrow(*block, ColumnId::kTid, narrow).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(decode_runs(*block, ColumnId::kTid, runs).error().code, ErrorCode::kInvalid);
    EXPECT_EQ(decode_runs(*block, ColumnId::kPid, runs).error().code, ErrorCode::kInvalid);  // isn't there
}

// Columns that weren't checked yet are checked when they are decoded.
TEST(NarrowColumns, OfDamagedBytesAreRefused) {
    std::string bytes = block_of(shapes()[5], kNewestCodec);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    EXPECT_EQ(parse_block_untrusted(bytes).error().code, ErrorCode::kCorrupt);
    const auto block = parse_block_untrusted(bytes, BlockCheck::kWhenDecoded);
    ASSERT_TRUE(block.ok());
    NarrowColumn narrow;
    std::vector<ValueRun> runs;
    DecodedRows rows;
    const ColumnId id = ColumnId::kTid;
    EXPECT_EQ(decode_narrow(*block, id, narrow).error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(decode_runs(*block, id, runs).error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(rows.decode(*block, {&id, 1}).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace perfleet
