#include "target-collector/message/live_counts.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace perfleet::live_counts_test {
namespace {

class LiveCountsTest : public testing::Test {
protected:
    LiveCountsTest() : memory_(kLiveCountsSizeBytes / 8) {}
    [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{memory_}); }

    std::vector<std::uint64_t> memory_;
    LiveCounts counts_;
    std::unique_ptr<LiveCountsRead> read_ = std::make_unique<LiveCountsRead>();
};

TEST_F(LiveCountsTest, HasTheDocumentedWords) {
    counts_.attach(bytes());
    counts_.set_last_seen({Ticks{1}, UtcNs{2}, 3});
    counts_.set_last_seen({Ticks{4}, UtcNs{5}, 6});
    counts_.add({Kind::kSample, EventNumber{7}}, CountName::kProduced, 8);
    counts_.add({Kind::kTask, kNoEvent}, CountName::kLostRingFull, 9);
    counts_.add({Kind::kSample, EventNumber{7}}, CountName::kProduced, 10);
    const std::vector<std::uint64_t> expected{2, 4, 5, 6, 1, 2, 3, 0, 18, 0x1'0007'0001, 9, 0x7'ffff'0003, 0, 0};
    EXPECT_EQ(std::vector<std::uint64_t>(memory_.begin(), memory_.begin() + 14), expected);
}

TEST_F(LiveCountsTest, CountsNothingWithoutMemory) {
    counts_.add({Kind::kSample, EventNumber{0}}, CountName::kProduced, 1);
    counts_.set_last_seen({Ticks{1}, UtcNs{2}, 3});
    ASSERT_TRUE(read_live_counts(bytes(), *read_).ok());
    EXPECT_TRUE(read_->counts.entries().empty());
    EXPECT_EQ(read_->last_seen, ClockPoint{});
}

TEST_F(LiveCountsTest, GivesTheSameAsACountTableEvenWhenItIsFull) {
    counts_.attach(bytes());
    auto book = std::make_unique<SessionCounts>();
    for (std::uint16_t round = 0; round < 3; ++round) {
        for (std::uint16_t event = 0; event < 600; ++event) {
            for (const CountName name : {CountName::kProduced, CountName::kLostKernelRing}) {
                counts_.add({Kind::kTracepoint, EventNumber{event}}, name, event + 1U);
                book->add({Kind::kTracepoint, EventNumber{event}}, name, event + 1U);
            }
        }
    }
    ASSERT_TRUE(read_live_counts(bytes(), *read_).ok());
    const auto read = read_->counts.entries();
    EXPECT_EQ(std::vector<CountEntry>(read.begin(), read.end()),
              std::vector<CountEntry>(book->entries().begin(), book->entries().end()));
}

constexpr Series kSamples{Kind::kSample, EventNumber{7}};
constexpr Series kTasks{Kind::kTask, kNoEvent};

TEST_F(LiveCountsTest, ADamagedCountIsLeftOutOrItsCopyStands) {
    for (const bool has_copy : {false, true}) {
        for (std::size_t bit = 0; bit < 128; ++bit) {
            memory_.assign(memory_.size(), 0);
            LiveCounts counts;
            counts.attach(bytes());
            counts.add(kSamples, CountName::kProduced, 8);
            counts.add(kTasks, CountName::kProduced, 5);
            if (has_copy) {
                counts.set_last_seen({Ticks{1}, UtcNs{2}, 3});
                counts.add(kTasks, CountName::kProduced, 1);
            }
            memory_[8 + bit / 64] ^= std::uint64_t{1} << bit % 64;
            *read_ = {};
            ASSERT_TRUE(read_live_counts(bytes(), *read_).ok());
            EXPECT_EQ(read_->counts.get(kTasks, CountName::kProduced), has_copy ? 6U : 5U);
            if (has_copy && bit >= 26) {
                EXPECT_EQ(read_->damaged_count, 1U) << bit;
                EXPECT_EQ(read_->counts.get(kSamples, CountName::kProduced), 8U) << bit;
            }
        }
    }
    EXPECT_EQ(read_live_counts(bytes().first(100), *read_).error().code, ErrorCode::kTruncated);
}

// Where the copy is damaged, or its writer was killed, the counts stand for themselves.
TEST_F(LiveCountsTest, ADamagedCopyIsPassedOver) {
    counts_.attach(bytes());
    counts_.add(kSamples, CountName::kProduced, 8);
    counts_.set_last_seen({Ticks{1}, UtcNs{2}, 3});
    counts_.add(kSamples, CountName::kProduced, 2);
    for (std::size_t at = kLiveCountsCopyOffset; at < kLiveCountsCopyOffset + 48; ++at) {
        bytes()[at] ^= std::byte{0x40};
        *read_ = {};
        ASSERT_TRUE(read_live_counts(bytes(), *read_).ok());
        bytes()[at] ^= std::byte{0x40};
        EXPECT_EQ(read_->counts.get(kSamples, CountName::kProduced), 10U) << at;
        EXPECT_EQ(read_->damaged_count, 0U);
        EXPECT_EQ(read_->last_seen, (ClockPoint{Ticks{1}, UtcNs{2}, 3}));
    }
}

}  // namespace
}  // namespace perfleet::live_counts_test
