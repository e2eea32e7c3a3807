#include "schemas/columns/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace perfleet {
namespace {

using Values = std::vector<std::uint64_t>;

struct Packed {
    Codec codec;
    std::vector<std::byte> bytes;
};

Packed pack(const Values& values) {
    std::vector<std::byte> out(encoded_size_bytes_max(values.size()));
    auto encoded = encode_integers(values, out);
    EXPECT_TRUE(encoded.ok());
    EXPECT_LE(encoded->size_bytes, out.size());
    out.resize(encoded->size_bytes);
    return {encoded->codec, out};
}

void expect_round_trip(const Values& values) {
    const Packed packed = pack(values);
    Values back(values.size());
    auto decoded = decode_integers(packed.codec, packed.bytes, back);
    ASSERT_TRUE(decoded.ok()) << "codec " << static_cast<int>(packed.codec) << " of " << values.size() << " values";
    EXPECT_EQ(back, values);
}

std::vector<std::byte> bytes_of(std::initializer_list<int> list) {
    std::vector<std::byte> bytes;
    for (const int value : list) {
        bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
}

TEST(Codec, RoundTripsEveryWidthAndLength) {
    std::mt19937_64 random{1};
    for (unsigned width = 0; width <= 64; ++width) {
        for (const std::size_t count : {0U, 1U, 2U, 7U, 255U, 256U, 257U, 511U, 512U, 1000U}) {
            Values values(count);
            for (auto& value : values) {
                value = width == 0 ? 0 : random() >> (64 - width);
            }
            expect_round_trip(values);
            std::sort(values.begin(), values.end());
            expect_round_trip(values);
            for (auto& value : values) {
                value += 0xffff'ffff'ffff'0000ULL;  // wraps
            }
            expect_round_trip(values);
        }
    }
}

TEST(Codec, RoundTripsExtremesSideBySide) {
    expect_round_trip({0, ~0ULL, 0, ~0ULL});
    expect_round_trip({~0ULL});
    expect_round_trip({1ULL << 63, (1ULL << 63) - 1});
    Values alternating(600);
    for (std::size_t i = 0; i < alternating.size(); ++i) {
        alternating[i] = i % 2 == 0 ? 0 : ~0ULL;
    }
    expect_round_trip(alternating);
}

TEST(Codec, ChoosesWhatTakesLeast) {
    EXPECT_EQ(pack(Values(100, 7)).codec, Codec::kFrameOfReference);
    Values clock(1000);
    for (std::size_t i = 0; i < clock.size(); ++i) {
        clock[i] = 1'000'000'000'000ULL + i * 1'000'000;
    }
    EXPECT_EQ(pack(clock).codec, Codec::kDelta);
    EXPECT_LT(pack(clock).bytes.size(), 60U);
    Values runs(1000, 5);
    std::fill(runs.begin() + 500, runs.end(), 1ULL << 40);
    EXPECT_EQ(pack(runs).codec, Codec::kRuns);
}

TEST(Codec, GoldenBytes) {
    // width 3, minimum 5, 0|1|5|2 low bit first: 000 001(<<3) 101(<<6) 010(<<9) = 0x548
    EXPECT_EQ(pack({5, 6, 10, 7}).bytes, bytes_of({3, 5, 0x48, 0x05}));
    Values steps(40);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        steps[i] = 1000 + 3 * i;
    }
    // first 1000 = e8 07, then width 0, minimum zigzag(3) = 6
    const Packed packed = pack(steps);
    EXPECT_EQ(packed.codec, Codec::kDelta);
    EXPECT_EQ(packed.bytes, bytes_of({0xe8, 0x07, 0, 6}));
}

TEST(Codec, RefusesOutputThatMightNotFit) {
    std::vector<std::byte> out(encoded_size_bytes_max(4) - 1);
    const Values values{1, 2, 3, 4};
    EXPECT_EQ(encode_integers(values, out).error().code, ErrorCode::kFull);
}

TEST(Codec, RefusesEveryTruncationAndEveryExtension) {
    std::mt19937_64 random{2};
    for (const Codec codec : {Codec::kFrameOfReference, Codec::kDelta, Codec::kRuns}) {
        Values values(300);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = codec == Codec::kDelta  ? i * 1'000'000 + random() % 64
                        : codec == Codec::kRuns ? (i / 150) << 50
                                                : random() % 1000;
        }
        Packed packed = pack(values);
        ASSERT_EQ(packed.codec, codec);
        Values back(values.size());
        for (std::size_t size = 0; size < packed.bytes.size(); ++size) {
            EXPECT_FALSE(decode_integers(codec, std::span{packed.bytes}.first(size), back).ok()) << size;
        }
        packed.bytes.push_back(std::byte{0});
        EXPECT_EQ(decode_integers(codec, packed.bytes, back).error().code, ErrorCode::kInvalid);
    }
}

TEST(Codec, RefusesAnotherCount) {
    const Packed packed = pack({1, 2, 3});
    Values fewer(2);
    EXPECT_FALSE(decode_integers(packed.codec, packed.bytes, fewer).ok());
    Values more(300);
    EXPECT_FALSE(decode_integers(packed.codec, packed.bytes, more).ok());
}

TEST(Codec, RefusesWidthsRunsAndVarintsOutOfRange) {
    Values one(1);
    EXPECT_FALSE(decode_integers(Codec::kFrameOfReference, bytes_of({65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), one).ok());
    EXPECT_FALSE(decode_integers(Codec::kRuns, bytes_of({2, 7}), one).ok());
    EXPECT_FALSE(decode_integers(Codec::kRuns, bytes_of({0, 7}), one).ok());
    EXPECT_FALSE(decode_integers(Codec::kFrameOfReference,
                                 bytes_of({0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}), one)
                     .ok());
    EXPECT_EQ(decode_integers(static_cast<Codec>(9), bytes_of({0, 0}), one).error().code, ErrorCode::kUnsupported);
}

TEST(Codec, SurvivesRandomBytes) {
    std::mt19937_64 random{3};
    Values values(700);
    for (int round = 0; round < 20'000; ++round) {
        std::vector<std::byte> bytes(random() % 64);
        for (auto& byte : bytes) {
            byte = static_cast<std::byte>(random());
        }
        (void)decode_integers(static_cast<Codec>(random() % 5), bytes, std::span{values}.first(random() % 700)).ok();
    }
}

}  // namespace
}  // namespace perfleet
