#include "target-collector/wire/delivery_journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::delivery_journal_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{2}};
constexpr std::array<SeqRange, 1> kRanges{SeqRange{Seq{3}, Seq{5}}};
constexpr std::array<CountEntry, 1> kAcknowledged{CountEntry{kSamples, CountName::kProduced, 100}};
constexpr std::array<CountEntry, 1> kLost{CountEntry{kSamples, CountName::kLostSpoolFull, 7}};

DeliveryState state(std::uint64_t last_sealed) {
    DeliveryState made;
    made.places = {64, 4'096, 8'192, 4'032, false};
    made.last_sealed = Seq{last_sealed};
    made.last_dropped = Seq{5};
    made.first_kept = Seq{6};
    made.ranges = kRanges;
    made.acknowledged = kAcknowledged;
    made.lost = kLost;
    return made;
}

std::string hex(std::span<const std::byte> bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::array<char, 4> pair{};
        std::snprintf(pair.data(), pair.size(), "%s%02x", i % 8 == 0 && i > 0 ? " " : "", static_cast<int>(bytes[i]));
        text += pair.data();
    }
    return text;
}

class Journal : public testing::Test {
protected:
    Journal() : memory_(kJournalSizeBytes / 8) {}
    [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{memory_}); }

    std::vector<std::uint64_t> memory_;
    std::unique_ptr<JournalEntry> entry_ = std::make_unique<JournalEntry>();
};

TEST_F(Journal, HasTheDocumentedBytes) {
    DeliveryJournal journal(bytes());
    journal.write(state(9));
    constexpr std::size_t kEntrySizeBytes = 112 + 16 + 2 * 16;
    EXPECT_EQ(hex(bytes().subspan(kJournalSlotSizeBytes, kEntrySizeBytes)),
              "0100000000000000 90000000e8024ecd 4000000000000000 0010000000000000 0020000000000000 "
              "c00f000000000000 0900000000000000 0500000000000000 0000000000000000 0000000000000000 0000000000000000 "
              "0000000001000000 0100000000000000 0100000004000000 0300000000000000 0500000000000000 6400000000000000 "
              "0100020001000000 0700000000000000 0400020001000000");
}

TEST_F(Journal, GivesTheNewestEntryBack) {
    DeliveryJournal journal(bytes());
    ASSERT_FALSE(read_journal(bytes(), *entry_).ok());
    for (std::uint64_t last = 9; last < 12; ++last) {
        journal.write(state(last));
    }
    ASSERT_TRUE(read_journal(bytes(), *entry_).ok());
    EXPECT_EQ(entry_->number, 3U);
    EXPECT_EQ(entry_->last_sealed, Seq{11});
    EXPECT_EQ(entry_->last_dropped, Seq{5});
    EXPECT_EQ(entry_->first_kept, Seq{6});
    EXPECT_EQ(entry_->places.used_bytes, 4'032U);
    ASSERT_EQ(entry_->range_count, 1U);
    EXPECT_EQ(entry_->ranges[0], kRanges[0]);
    EXPECT_EQ(entry_->acknowledged.get(kSamples, CountName::kProduced), 100U);
    EXPECT_EQ(entry_->lost.get(kSamples, CountName::kLostSpoolFull), 7U);
    EXPECT_FALSE(entry_->has_final);
}

TEST_F(Journal, AnEntryTornAtAnyByteLeavesTheOneBefore) {
    DeliveryJournal journal(bytes());
    journal.write(state(9));
    journal.write(state(10));
    const std::vector<std::byte> before(bytes().begin(), bytes().end());
    journal.write(state(11));
    const std::vector<std::byte> after(bytes().begin(), bytes().end());
    constexpr std::size_t kEntrySizeBytes = 112 + 16 + 2 * 16;
    for (std::size_t written = 0; written <= kEntrySizeBytes; ++written) {
        std::copy(before.begin(), before.end(), bytes().begin());
        std::copy_n(after.begin() + kJournalSlotSizeBytes, written, bytes().begin() + kJournalSlotSizeBytes);
        ASSERT_TRUE(read_journal(bytes(), *entry_).ok()) << written;
        const bool is_whole = std::equal(after.begin(), after.end(), bytes().begin());
        EXPECT_EQ(entry_->last_sealed, Seq{is_whole ? 11U : 10U}) << written;
        *entry_ = JournalEntry{};
    }
}

TEST_F(Journal, AnEntryWithAnyOtherBitIsPassedOver) {
    DeliveryJournal journal(bytes());
    journal.write(state(9));
    journal.write(state(10));
    constexpr std::size_t kEntrySizeBytes = 112 + 16 + 2 * 16;
    for (std::size_t bit = 0; bit < kEntrySizeBytes * 8; ++bit) {
        bytes()[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
        ASSERT_TRUE(read_journal(bytes(), *entry_).ok());
        EXPECT_EQ(entry_->last_sealed, Seq{9}) << bit;
        *entry_ = JournalEntry{};
        bytes()[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    }
}

// After the last number there is none that is newer.
TEST_F(Journal, AnEntryWithANumberThatNoSessionComesToIsPassedOver) {
    DeliveryJournal(bytes(), kJournalNumberMax - 1).write(state(9));
    ASSERT_TRUE(read_journal(bytes(), *entry_).ok());
    EXPECT_EQ(entry_->last_sealed, Seq{9});
    *entry_ = JournalEntry{};
    DeliveryJournal(bytes(), kJournalNumberMax).write(state(10));
    ASSERT_TRUE(read_journal(bytes(), *entry_).ok());
    EXPECT_EQ(entry_->last_sealed, Seq{9});
    *entry_ = JournalEntry{};
    DeliveryJournal(bytes(), ~0ULL - 1).write(state(11));  // in the slot of the first
    const auto read = read_journal(bytes(), *entry_);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
}

// The next one would be written over it, and a kill in between would leave none.
TEST_F(Journal, AnEntryInTheOtherSlotIsPassedOver) {
    DeliveryJournal(bytes(), 1).write(state(9));
    const auto first = bytes().first(kJournalSlotSizeBytes);
    const auto second = bytes().subspan(kJournalSlotSizeBytes);
    ASSERT_TRUE(read_journal(bytes(), *entry_).ok());
    std::copy(first.begin(), first.end(), second.begin());
    std::fill(first.begin(), first.end(), std::byte{0});
    const auto read = read_journal(bytes(), *entry_);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
}

TEST_F(Journal, HoldsTheMostThereMayBe) {
    std::vector<SeqRange> ranges;
    std::vector<CountEntry> counts;
    for (std::uint64_t i = 0; i < limits::kDroppedRangesMax; ++i) {
        ranges.push_back({Seq{10 * i + 1}, Seq{10 * i + 2}});
    }
    for (std::uint16_t i = 0; i < limits::kCountsMax - 32; ++i) {
        counts.push_back({{Kind::kTracepoint, EventNumber{i}}, CountName::kProduced, i + 1U});
    }
    DeliveryState full;
    full.last_sealed = Seq{10'000};
    full.ranges = ranges;
    full.acknowledged = counts;
    full.since_drop = counts;
    full.lost = counts;
    DeliveryJournal journal(bytes());
    journal.write(full);
    ASSERT_TRUE(read_journal(bytes(), *entry_).ok());
    EXPECT_EQ(entry_->range_count, ranges.size());
    EXPECT_TRUE(std::equal(counts.begin(), counts.end(), entry_->lost.entries().begin()));
}

TEST_F(Journal, AnEntryOfMoreThanThereMayBeIsRefused) {
    const std::vector<CountEntry> counts(limits::kCountsMax + 1, kLost[0]);
    std::vector<SeqRange> ranges;
    for (std::uint64_t i = 0; i <= limits::kDroppedRangesMax; ++i) {
        ranges.push_back({Seq{10 * i + 1}, Seq{10 * i + 2}});
    }
    const auto is_refused = [&](auto change) {
        DeliveryState changed = state(100'000);
        changed.first_kept = Seq{100'000};
        change(changed);
        DeliveryJournal(bytes()).write(changed);
        return !read_journal(bytes(), *entry_).ok();
    };
    EXPECT_FALSE(is_refused([](DeliveryState&) {}));
    EXPECT_TRUE(is_refused([&](DeliveryState& more) { more.acknowledged = counts; }));
    EXPECT_TRUE(is_refused([&](DeliveryState& more) { more.since_drop = counts; }));
    EXPECT_TRUE(is_refused([&](DeliveryState& more) { more.lost = counts; }));
    EXPECT_TRUE(is_refused([&](DeliveryState& more) { more.ranges = ranges; }));
}

}  // namespace
}  // namespace perfleet::delivery_journal_test
