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

TEST_F(LiveCountsTest, NamesACountThatCannotBe) {
    counts_.attach(bytes());
    counts_.add({Kind::kSample, EventNumber{7}}, CountName::kProduced, 8);
    memory_[9] = 0xff'0007'0001;
    const auto done = read_live_counts(bytes(), *read_);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(done.error().where, 64U);
    EXPECT_EQ(read_live_counts(bytes().first(100), *read_).error().code, ErrorCode::kTruncated);
}

}  // namespace
}  // namespace perfleet::live_counts_test
