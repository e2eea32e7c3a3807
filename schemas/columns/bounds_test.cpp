#include "schemas/columns/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace perfleet {
namespace {

using Values = std::vector<std::uint64_t>;

// The bounds according to decoding the column.
Checked<ValueBounds> decoded_bounds(Codec codec, std::span<const std::byte> bytes, std::size_t value_count) {
    Values values(value_count);
    PERFLEET_TRY(decode_integers(codec, bytes, values));
    ValueBounds bounds;
    for (const std::uint64_t value : values) {
        bounds = {std::min(bounds.min, value), std::max(bounds.max, value)};
    }
    return bounds;
}

void expect_same(Codec codec, std::span<const std::byte> bytes, std::size_t value_count) {
    const auto expected = decoded_bounds(codec, bytes, value_count);
    const auto bounds = bounds_of_integers(codec, bytes, value_count);
    ASSERT_EQ(bounds.ok(), expected.ok()) << "codec " << static_cast<int>(codec) << ", " << value_count << " values";
    if (bounds.ok()) {
        EXPECT_EQ(*bounds, *expected);
    } else {
        EXPECT_EQ(bounds.error().code, expected.error().code);
        EXPECT_EQ(bounds.error().where, expected.error().where);
    }
    // Limits that hold them just or not quite, and such that hold a part.
    const ValueBounds exact = expected.ok() ? *expected : ValueBounds{1'000, 1'200};
    for (const ValueBounds limits :
         {ValueBounds{0, ~0ULL}, ValueBounds{exact.min, exact.max}, ValueBounds{exact.min + 1, exact.max},
          ValueBounds{exact.min, exact.max - 1}, ValueBounds{exact.min / 2 + exact.max / 2, exact.max}}) {
        const auto within = bounds_within(codec, bytes, value_count, limits);
        ASSERT_EQ(within.ok(), expected.ok());
        if (!within.ok()) {
            EXPECT_EQ(within.error().code, expected.error().code);
            EXPECT_EQ(within.error().where, expected.error().where);
        } else if (value_count != 0 && exact.min >= limits.min && exact.max <= limits.max) {
            EXPECT_TRUE(within->min >= limits.min && within->max <= limits.max);
            EXPECT_TRUE(within->min <= exact.min && within->max >= exact.max);
        } else if (exact.max > limits.max) {
            EXPECT_EQ(within->max, exact.max);
        } else {
            EXPECT_EQ(within->min, exact.min);
        }
    }
}

// Columns that every codec is best for, of lengths around those of chunks.
std::vector<Values> columns() {
    std::mt19937_64 random{7};
    std::vector<Values> all{{}, {0}, {~0ULL}, {5, ~0ULL, 0}};
    for (const std::size_t count : {1U, 255U, 256U, 257U, 1'000U, 4'099U}) {
        Values any;
        Values times;
        Values runs;
        Values few;
        Values far;
        for (std::size_t i = 0; i < count; ++i) {
            any.push_back(random());
            times.push_back(1'000'000 + i * 1'001'001 + random() % 4'000);
            runs.push_back(i / 300 * 1'000'000'007);
            few.push_back((random() % 40) * 0x1234'5678'9abcULL);
            far.push_back(random() % 100 == 0 ? random() : 1'000 + random() % 64);
        }
        std::sort(any.begin(), any.begin() + static_cast<std::ptrdiff_t>(count / 2));
        for (Values* values : {&any, &times, &runs, &few, &far}) {
            all.push_back(std::move(*values));
        }
    }
    return all;
}

TEST(Bounds, AreThoseOfTheDecodedValuesInEveryCodec) {
    std::vector<bool> met(static_cast<std::size_t>(kNewestCodec) + 1);
    for (const Values& values : columns()) {
        std::vector<std::byte> bytes(encoded_size_bytes_max(values.size()));
        for (const Codec newest : {kCommonCodec, kNewestCodec}) {
            const auto encoded = encode_integers(values, bytes, newest);
            ASSERT_TRUE(encoded.ok());
            met[static_cast<std::size_t>(encoded->codec)] = true;
            const auto column = std::span<const std::byte>{bytes}.first(encoded->size_bytes);
            ASSERT_TRUE(bounds_of_integers(encoded->codec, column, values.size()).ok());
            for (const std::size_t count : {values.size(), values.size() + 1, values.size() / 2, std::size_t{0}}) {
                expect_same(encoded->codec, column, count);
            }
        }
    }
    for (const Codec codec :
         {Codec::kFrameOfReference, Codec::kDelta, Codec::kRuns, Codec::kPatched, Codec::kDictionary}) {
        EXPECT_TRUE(met[static_cast<std::size_t>(codec)]) << "no column of codec " << static_cast<int>(codec);
    }
    EXPECT_EQ(bounds_of_integers(Codec::kBytes, {}, 0).error().code, ErrorCode::kUnsupported);
}

TEST(Bounds, RefuseWhatDecodingRefuses) {
    std::mt19937_64 random{8};
    for (const Values& values : columns()) {
        std::vector<std::byte> bytes(encoded_size_bytes_max(values.size()));
        for (const Codec newest : {kCommonCodec, kNewestCodec}) {
            const auto encoded = encode_integers(values, bytes, newest);
            ASSERT_TRUE(encoded.ok());
            const std::vector<std::byte> column(bytes.begin(),
                                                bytes.begin() + static_cast<std::ptrdiff_t>(encoded->size_bytes));
            for (int attempt = 0; attempt < 60; ++attempt) {
                std::vector<std::byte> broken = column;
                for (std::uint64_t i = 0; !broken.empty() && i < 1 + random() % 3; ++i) {
                    broken[random() % broken.size()] ^= static_cast<std::byte>(1U << random() % 8);
                }
                broken.resize(random() % 4 == 0 ? random() % (broken.size() + 4) : broken.size());
                for (unsigned codec = 0; codec <= static_cast<unsigned>(kNewestCodec) + 1; ++codec) {
                    if (codec == static_cast<unsigned>(encoded->codec) || attempt < 4) {
                        expect_same(static_cast<Codec>(codec), broken, values.size());
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace perfleet
