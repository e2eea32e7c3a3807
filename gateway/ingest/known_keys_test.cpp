#include "gateway/ingest/known_keys.h"

#include <gtest/gtest.h>

namespace perfleet::known_keys_test {
namespace {

TEST(KnownKeys, AreBoundedAndTheNewestStay) {
    constexpr std::uint64_t kMost = 64;
    KnownKeys keys{kMost};
    for (std::uint64_t key = 0; key < 1'000; ++key) {
        keys.add(key, key + 1);
        keys.add(7, 8);  // seen again and again
        std::uint64_t known = 0;
        for (std::uint64_t before = 0; before <= key; ++before) {
            known += keys.find(before) == before + 1 ? 1 : 0;
        }
        ASSERT_LE(known, kMost);
        ASSERT_GE(known, std::min(key + 1, kMost / 2));
        ASSERT_EQ(keys.find(key), key + 1);
    }
    EXPECT_EQ(keys.find(7), 8U);
    EXPECT_EQ(keys.find(8), 0U) << "of long ago";
    EXPECT_EQ(keys.find(5'000), 0U);
}

TEST(KnownKeys, TakeTheLastNumber) {
    KnownKeys keys{8};
    keys.add(1, 2);
    keys.add(1, 3);
    keys.add(1, 0);  // no number
    EXPECT_EQ(keys.find(1), 3U);
}

}  // namespace
}  // namespace perfleet::known_keys_test
