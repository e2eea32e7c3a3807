#include "target-collector/source/linux/source_sample.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace perfleet {
namespace {

// As a BPF program emits it: status, period, chain.
std::array<std::byte, 28> unwound_data() {
    std::array<std::byte, 28> bytes{};
    const std::uint32_t status = 3;
    const std::array<std::uint64_t, 3> words{9'000, 0x401000, 0x402000};
    std::memcpy(bytes.data(), &status, sizeof(status));
    std::memcpy(bytes.data() + sizeof(status), words.data(), sizeof(words));
    return bytes;
}

TEST(SourceSample, WhatABpfProgramUnwoundIsTaken) {
    alignas(8) std::array<std::byte, 32> memory{};
    const auto data = unwound_data();
    std::memcpy(memory.data() + 4, data.data(), data.size());  // its words are aligned
    const auto raw = std::span<const std::byte>{memory}.subspan(4);
    SourceSample sample;
    sample.raw = raw;
    ASSERT_TRUE(take_unwound(sample, false));
    EXPECT_TRUE(sample.is_unwound);
    EXPECT_EQ(sample.unwound_end, 3U);
    EXPECT_EQ(sample.period, 9'000U);
    EXPECT_EQ(std::vector(sample.user_chain.begin(), sample.user_chain.end()),
              (std::vector<std::uint64_t>{0x401000, 0x402000}));
    EXPECT_TRUE(sample.raw.empty());
    sample.raw = raw.first(12);
    ASSERT_TRUE(take_unwound(sample, false));
    EXPECT_TRUE(sample.user_chain.empty());
    for (const std::size_t size : {0U, 11U}) {
        sample.raw = raw.first(size);
        EXPECT_FALSE(take_unwound(sample, false)) << size;
    }
    sample.raw = raw;
    EXPECT_FALSE(take_unwound(sample, true));  // its head would be longer
}

}  // namespace
}  // namespace perfleet
