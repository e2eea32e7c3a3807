#include "schemas/columns/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "schemas/columns/bit_width.h"
#include "schemas/columns/crc32c.h"

namespace perfleet {
namespace {

using Values = std::vector<std::uint64_t>;

struct Packed {
    Codec codec;
    std::vector<std::byte> bytes;
};

Packed pack(const Values& values, Codec newest = kNewestCodec) {
    std::vector<std::byte> out(encoded_size_bytes_max(values.size()));
    auto encoded = encode_integers(values, out, newest);
    EXPECT_TRUE(encoded.ok());
    EXPECT_LE(encoded->size_bytes, out.size());
    out.resize(encoded->size_bytes);
    return {encoded->codec, out};
}

void expect_round_trip(const Values& values) {
    for (const Codec newest : {kCommonCodec, kNewestCodec}) {
        const Packed packed = pack(values, newest);
        EXPECT_LE(packed.codec, newest);
        Values back(values.size());
        auto decoded = decode_integers(packed.codec, packed.bytes, back);
        ASSERT_TRUE(decoded.ok()) << "codec " << static_cast<int>(packed.codec) << " of " << values.size() << " values";
        EXPECT_EQ(back, values);
    }
}

// Times of samples, by cpu: steps of a period with jitter, some missing, and a jump back at each new cpu.
Values sample_times(std::size_t count) {
    std::mt19937_64 random{4};
    Values times(count);
    std::uint64_t now = 0;
    for (std::size_t i = 0; i < count; ++i) {
        now = i % 700 == 0 ? 5'000'000'000'000 + random() % 1'000'000 : now + 1'001'001 * (random() % 90 == 0 ? 9 : 1);
        times[i] = now + random() % 4'000;
    }
    return times;
}

// Process ids of samples: runs of a few among many.
Values sample_pids(std::size_t count) {
    std::mt19937_64 random{5};
    Values pids;
    while (pids.size() < count) {
        const std::uint64_t pid = random() % 4 == 0 ? 0 : 100'000 + 17 * (random() % 90);
        pids.insert(pids.end(), 1 + random() % 9, pid);
    }
    pids.resize(count);
    return pids;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> list) {
    std::vector<std::byte> bytes;
    for (const int value : list) {
        bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
}

TEST(BitWidth, IsTheSameByHalves) {
    EXPECT_EQ(bit_width_by_halves(0), 0U);
    for (unsigned width = 0; width < 64; ++width) {
        for (const std::uint64_t value : {1ULL << width, (1ULL << width) + 1, (2ULL << width) - 1}) {
            EXPECT_EQ(bit_width_by_halves(value), static_cast<unsigned>(std::bit_width(value))) << value;
        }
    }
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
    EXPECT_EQ(pack(Values(100, 7), kCommonCodec).codec, Codec::kFrameOfReference);
    Values clock(1000);
    for (std::size_t i = 0; i < clock.size(); ++i) {
        clock[i] = 1'000'000'000'000ULL + i * 1'000'000;
    }
    EXPECT_EQ(pack(clock).codec, Codec::kDelta);
    EXPECT_LT(pack(clock).bytes.size(), 60U);
    Values runs(1000, 5);
    std::fill(runs.begin() + 500, runs.end(), 1ULL << 40);
    EXPECT_EQ(pack(runs).codec, Codec::kRuns);
    EXPECT_EQ(pack(sample_times(3'000)).codec, Codec::kPatched);
    EXPECT_LT(pack(sample_times(3'000)).bytes.size() * 10, pack(sample_times(3'000), kCommonCodec).bytes.size() * 7);
    EXPECT_EQ(pack(sample_pids(3'000)).codec, Codec::kDictionary);
    EXPECT_LT(pack(sample_pids(3'000)).bytes.size() * 2, pack(sample_pids(3'000), kCommonCodec).bytes.size());
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

TEST(Codec, GoldenBytesOfPatched) {
    // Near 9, width 2, but for the 6th, whose zigzag 1982 = 0b11110111110 has 495 above its low 2 bits: at place 5,
    // width 9.
    const Values values{9, 8, 10, 9, 8, 1'000, 10, 9, 9, 8, 10, 9};
    const auto bytes = bytes_of({2, 1, 9, 0x24, 0x29, 0x24, 5, 9, 0xef, 0x01});
    Values back(values.size());
    ASSERT_TRUE(decode_integers(Codec::kPatched, bytes, back).ok());
    EXPECT_EQ(back, values);
    EXPECT_EQ(pack(values).codec, Codec::kPatched);
    EXPECT_EQ(pack(values).bytes, bytes);
}

TEST(Codec, ReadsGoldenBytesOfDifferencesAndDictionary) {
    // Differences (128), width 0, none excepted, centre zigzag(3) = 6: from 0 on in steps of 3.
    Values steps(4);
    ASSERT_TRUE(decode_integers(Codec::kPatched, bytes_of({128, 0, 6}), steps).ok());
    EXPECT_EQ(steps, (Values{3, 6, 9, 12}));
    // 2 values, 70 and 80: centre 80, width 5 (zigzag −10 = 19, 0). 2 runs, lengths 3 and 5: centre 5, width 2
    // (zigzag −2 = 3, 0). Indices 0 and 1: centre 1, width 1 (zigzag −1 = 1, 0).
    Values runs(8);
    const auto bytes = bytes_of({2, 5, 0, 80, 19, 0, 2, 2, 0, 5, 3, 1, 0, 1, 1});
    ASSERT_TRUE(decode_integers(Codec::kDictionary, bytes, runs).ok());
    EXPECT_EQ(runs, (Values{70, 70, 70, 80, 80, 80, 80, 80}));
}

TEST(Codec, RoundTripsColumnsOfSamplesAndOutliers) {
    for (const std::size_t count : {1U, 255U, 256U, 257U, 1'023U, 1'025U, 5'000U, 16'384U}) {
        expect_round_trip(sample_times(count));
        expect_round_trip(sample_pids(count));
    }
    // Any share of outliers of any size, in values and in steps.
    std::mt19937_64 random{6};
    for (int round = 0; round < 300; ++round) {
        Values values(1 + random() % 2'000);
        const unsigned bits = random() % 64;
        const unsigned outlier_bits = random() % 64;
        const std::uint64_t one_in = 1 + random() % 40;
        const std::uint64_t base = random();
        for (auto& value : values) {
            value = base + (random() >> (random() % one_in == 0 ? outlier_bits : bits));
        }
        expect_round_trip(values);
        for (std::size_t i = 1; i < values.size(); ++i) {
            values[i] += values[i - 1];
        }
        expect_round_trip(values);
    }
}

TEST(Codec, RoundTripsAroundTheLimitOfDistinctValues) {
    for (const std::size_t distinct : {1U, 2U, 255U, 256U, 257U, 1'023U, 1'024U, 1'025U}) {
        for (const std::size_t run : {1U, 2U, 7U}) {
            Values values;
            for (std::size_t i = 0; i < 4 * distinct; ++i) {
                values.insert(values.end(), run, ((i % distinct) * 0x9e37'79b9'7f4a'7c15ULL) >> 7);
            }
            expect_round_trip(values);
        }
    }
}

TEST(Codec, TakesNoMoreRoomThanStatedWhereJudgingByAFewChunksIsWrong) {
    // The judged chunks are smooth, all others are noise.
    std::mt19937_64 random{7};
    Values values(16'384);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = i / 256 % 8 == 0 ? (i % 100 == 0 ? ~0ULL : i % 2) : random();
    }
    expect_round_trip(values);
    EXPECT_LE(pack(values).bytes.size(), encoded_size_bytes_max(values.size()));
}

// Blocks are the same bytes wherever they are made: another choice of codec, width or order shows here. It may change
// until the first release, but not unnoticed.
TEST(Codec, EncodesColumnsToTheSameBytesAsBefore) {
    std::mt19937_64 random{11};
    std::vector<Values> columns;
    for (const std::size_t count : {1U, 2U, 15U, 16U, 255U, 256U, 257U, 1'024U, 1'025U, 2'304U, 5'000U}) {
        columns.push_back(sample_times(count));
        columns.push_back(sample_pids(count));
        columns.emplace_back(count, 7);
        Values steps(count);
        Values runs(count);
        Values outliers(count);
        Values few(count);
        Values falling(count);
        for (std::size_t i = 0; i < count; ++i) {
            steps[i] = 1'000 + 3 * i + (i % 200 == 199 ? random() % 1'000'000 : 0);
            runs[i] = i / (1 + i % 61) % 5;
            outliers[i] = 500 + random() % 16 + (random() % 12 == 0 ? random() >> 20U : 0);
            few[i] = random() % 3 * 1'000'003;
            falling[i] = ~0ULL - 17 * i - random() % 4;
        }
        for (const Values& column : {steps, runs, outliers, few, falling}) {
            columns.push_back(column);
        }
    }
    for (int i = 0; i < 200; ++i) {
        Values values(1 + random() % 1'500);
        const std::uint64_t distinct = 1 + random() % 1'100;
        const std::uint64_t run_max = 1 + random() % 6;
        const std::uint64_t bits = random() % 60;
        for (std::size_t at = 0; at < values.size();) {
            const std::uint64_t value = (random() % distinct * 0x9e37'79b9'7f4a'7c15ULL) >> bits;
            for (std::uint64_t end = at + 1 + random() % run_max; at < end && at < values.size(); ++at) {
                values[at] = value;
            }
        }
        columns.push_back(std::move(values));
    }
    std::map<Codec, std::size_t> counts;
    for (const auto& [newest, expected] :
         {std::pair{kCommonCodec, 3'106'363'794U}, std::pair{kNewestCodec, 3'497'906'251U}}) {
        std::uint32_t crc = 0;
        for (const Values& column : columns) {
            const Packed packed = pack(column, newest);
            ++counts[packed.codec];
            crc = crc32c(crc, bytes_of({static_cast<int>(packed.codec)}));
            crc = crc32c(crc, packed.bytes);
        }
        EXPECT_EQ(crc, expected);
    }
    EXPECT_EQ(counts.size(), 5U) << "each of them is chosen";
}

TEST(Codec, RefusesOutputThatMightNotFit) {
    std::vector<std::byte> out(encoded_size_bytes_max(4) - 1);
    const Values values{1, 2, 3, 4};
    EXPECT_EQ(encode_integers(values, out).error().code, ErrorCode::kFull);
}

TEST(Codec, RefusesEveryTruncationAndEveryExtension) {
    std::mt19937_64 random{2};
    Values steps(300);
    Values runs(300);
    Values small(300);
    for (std::size_t i = 0; i < 300; ++i) {
        steps[i] = i * 1'000'000 + random() % 64;
        runs[i] = (i / 150) << 50;
        small[i] = random() % 1000;
    }
    const std::vector<std::pair<Codec, Packed>> columns{{Codec::kDelta, pack(steps, kCommonCodec)},
                                                        {Codec::kRuns, pack(runs, kCommonCodec)},
                                                        {Codec::kFrameOfReference, pack(small, kCommonCodec)},
                                                        {Codec::kPatched, pack(sample_times(300))},
                                                        {Codec::kDictionary, pack(sample_pids(300))}};
    for (auto [codec, packed] : columns) {
        ASSERT_EQ(packed.codec, codec);
        Values back(300);
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
    const auto patched = [&](std::initializer_list<int> list) {
        return decode_integers(Codec::kPatched, bytes_of(list), one).ok();
    };
    EXPECT_TRUE(patched({1, 1, 7, 0, 0, 1, 1}));
    EXPECT_FALSE(patched({1, 1, 7, 0, 1, 1, 1}));     // a place past the chunk
    EXPECT_FALSE(patched({1, 2, 7, 0, 0, 0, 1, 3}));  // more exceptions than values
    EXPECT_FALSE(patched({1, 1, 7, 0, 0, 0, 1}));     // nothing above the width
    EXPECT_FALSE(patched({1, 1, 7, 0, 0, 1, 0}));     // that is 0
    EXPECT_FALSE(patched({65, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    const auto dictionary = [&](std::initializer_list<int> list) {
        return decode_integers(Codec::kDictionary, bytes_of(list), one).ok();
    };
    EXPECT_TRUE(dictionary({1, 0, 0, 7, 1, 0, 0, 0}));
    EXPECT_FALSE(dictionary({1, 0, 0, 7, 1, 0, 0, 1}));           // an index past the values
    EXPECT_FALSE(dictionary({0, 1, 0, 0, 0}));                    // no values
    EXPECT_FALSE(dictionary({1, 0, 0, 7, 2, 0, 0, 1, 0, 0, 0}));  // more runs than values
    EXPECT_FALSE(dictionary({0x81, 8, 0, 0, 7, 1, 0, 0, 0}));     // 1025 values
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
        (void)decode_integers(static_cast<Codec>(random() % 7), bytes, std::span{values}.first(random() % 700)).ok();
    }
}

}  // namespace
}  // namespace perfleet
