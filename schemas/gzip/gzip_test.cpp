#include "schemas/gzip/gzip.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

constexpr std::size_t kSizeBytesMax = 1U << 20;

std::string some_text() {
    std::string text;
    for (int i = 0; i < 30'000; ++i) {
        text += std::to_string(i * 7'919 % 1'000) + ",";
    }
    return text;
}

TEST(Gzip, PiecesUnpackToTheWhole) {
    const std::string text = some_text();
    GzipBody body;
    std::string packed;
    for (std::size_t at = 0; at < text.size(); at += 1'000) {
        packed += body.add(text.substr(at, 1'000), false);
    }
    packed += body.add("", true);
    EXPECT_LT(packed.size(), text.size() / 2);
    EXPECT_EQ(*gunzip(packed, kSizeBytesMax), text);
    EXPECT_EQ(*gunzip(packed + packed, kSizeBytesMax), text + text) << "members follow each other";
    EXPECT_EQ(*gunzip(GzipBody{}.add("", true), 0), "");
}

TEST(Gzip, WhatUnpacksToTooMuchIsRefused) {
    const std::string packed = GzipBody{}.add(std::string(kSizeBytesMax + 1, 'x'), true);
    EXPECT_LT(packed.size(), 20'000U);
    EXPECT_EQ(gunzip(packed, kSizeBytesMax).error().code, ErrorCode::kTooLarge);
    EXPECT_TRUE(gunzip(packed, kSizeBytesMax + 1).ok());
}

TEST(Gzip, CutAndDamagedBodiesAreRefused) {
    const std::string packed = GzipBody{}.add(some_text(), true);
    for (std::size_t size = 0; size < packed.size(); size += 97) {
        EXPECT_EQ(gunzip(packed.substr(0, size), kSizeBytesMax).error().code, ErrorCode::kInvalid) << size;
    }
    std::string damaged = packed;
    damaged[packed.size() / 2] ^= 0x55;
    EXPECT_FALSE(gunzip(damaged, kSizeBytesMax).ok());
    EXPECT_FALSE(gunzip(packed + "x", kSizeBytesMax).ok());
}

}  // namespace
}  // namespace perfleet
