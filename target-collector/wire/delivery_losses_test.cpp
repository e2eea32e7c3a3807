#include "target-collector/wire/delivery_losses.h"
#include "schemas/vocabulary/batch_limits.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace perfleet::delivery_losses_test {
namespace {

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr EpochNumber kEpoch{0};

std::array<SealedRecord::Rows, 1> rows(std::uint64_t seq) {
    return {SealedRecord::Rows{kSamples, static_cast<std::uint32_t>(seq % 97 + 1)}};
}

std::uint64_t sum(std::span<const CountEntry> counts) {
    std::uint64_t value = 0;
    for (const CountEntry& entry : counts) {
        value += entry.value;
    }
    return value;
}

struct LossesMemory {
    std::array<CountEntry, DeliveryLosses::kCountTables * limits::kCountsMax> entries{};
};
struct LossesInMemory : private LossesMemory, DeliveryLosses {
    LossesInMemory() : DeliveryLosses{entries} {}
};

bool is_named(const DeliveryLosses& losses, std::uint64_t seq) {
    for (const SeqRange& range : losses.ranges()) {
        if (range.first.value <= seq && seq <= range.last.value) {
            return true;
        }
    }
    return false;
}

TEST(DeliveryLosses, JoinsRangesBeyondTheMostThereMayBe) {
    LossesInMemory losses;
    // Every other batch is dropped, and none of it named by an acknowledged one.
    for (std::uint64_t seq = 1; seq <= 2 * limits::kDroppedRangesMax; ++seq) {
        if (seq % 2 == 1) {
            ASSERT_TRUE(losses.drop_oldest(Seq{seq}, kEpoch, rows(seq)));
        } else {
            losses.count_acknowledged(rows(seq));
        }
    }
    EXPECT_EQ(losses.ranges().size(), limits::kDroppedRangesMax);
    constexpr std::uint64_t kLast = 2 * limits::kDroppedRangesMax + 1;
    const std::uint64_t lost_before = sum(losses.counts());
    ASSERT_TRUE(losses.drop_oldest(Seq{kLast}, kEpoch, rows(kLast)));
    EXPECT_EQ(losses.ranges().size(), limits::kDroppedRangesMax);
    EXPECT_EQ(losses.ranges().back(), (SeqRange{Seq{kLast - 2}, Seq{kLast}}));
    // The batch in between counts as lost, too.
    EXPECT_EQ(sum(losses.counts()), lost_before + rows(kLast)[0].row_count + rows(kLast - 1)[0].row_count);
}

TEST(DeliveryLosses, ARangeGrowsAtBothEndsAndJoinsItsNeighbours) {
    using Ranges = std::vector<SeqRange>;
    LossesInMemory losses;
    const auto ranges = [&] { return Ranges(losses.ranges().begin(), losses.ranges().end()); };
    for (const std::uint64_t seq : {1U, 5U, 9U}) {
        ASSERT_TRUE(losses.drop_newest(Seq{seq}, kEpoch, rows(seq)));
    }
    EXPECT_EQ(ranges(), (Ranges{{Seq{1}, Seq{1}}, {Seq{5}, Seq{5}}, {Seq{9}, Seq{9}}}));
    ASSERT_TRUE(losses.drop_newest(Seq{10}, kEpoch, rows(10)));
    ASSERT_TRUE(losses.drop_oldest(Seq{2}, kEpoch, rows(2)));
    ASSERT_TRUE(losses.drop_oldest(Seq{4}, kEpoch, rows(4)));
    EXPECT_EQ(ranges(), (Ranges{{Seq{1}, Seq{2}}, {Seq{4}, Seq{5}}, {Seq{9}, Seq{10}}}));
    ASSERT_TRUE(losses.drop_oldest(Seq{3}, kEpoch, rows(3)));
    EXPECT_EQ(ranges(), (Ranges{{Seq{1}, Seq{5}}, {Seq{9}, Seq{10}}}));
}

// A ledger subtracts the rows of held batches in named ranges.
TEST(DeliveryLosses, StaysExactHoweverBatchesAreDroppedAndAcknowledged) {
    std::uint64_t joined_count = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        std::mt19937_64 random(seed);
        LossesInMemory losses;
        std::map<std::uint64_t, std::uint64_t> held;
        std::uint64_t produced = 0;
        for (std::uint64_t seq = 1; seq <= 1'000; ++seq) {
            const auto own = rows(seq);
            const std::uint64_t choice = random() % 8;
            produced += own[0].row_count;
            if (choice == 0) {
                losses.count_refused(kEpoch, own);
            } else if (choice == 1 && losses.drop_newest(Seq{seq}, kEpoch, own)) {
                continue;
            } else if (choice < 4 && losses.drop_oldest(Seq{seq}, kEpoch, own)) {
                joined_count += losses.ranges().size() == limits::kDroppedRangesMax ? 1 : 0;
            } else {
                losses.count_acknowledged(own);
                held[seq] = own[0].row_count;
            }
            ASSERT_LE(losses.ranges().size(), limits::kDroppedRangesMax);
        }
        std::uint64_t stored = 0;
        std::uint64_t held_in_named = 0;
        for (const auto& [seq, count] : held) {
            stored += count;
            held_in_named += is_named(losses, seq) ? count : 0;
        }
        EXPECT_EQ(stored + sum(losses.counts()) - held_in_named, produced) << seed;
        // What is neither named nor lost was acknowledged.
        EXPECT_EQ(sum(losses.acknowledged()) + sum(losses.since_drop()) + sum(losses.counts()), produced) << seed;
        for (std::size_t i = 1; i < losses.ranges().size(); ++i) {
            EXPECT_GT(losses.ranges()[i].first.value, losses.ranges()[i - 1].last.value + 1);
        }
    }
    EXPECT_GT(joined_count, 1'000U);
}

TEST(DeliveryLosses, GoesOnFromWhatAnotherCounted) {
    LossesInMemory first;
    ASSERT_TRUE(first.drop_oldest(Seq{1}, kEpoch, rows(1)));
    first.count_acknowledged(rows(2));
    ASSERT_TRUE(first.drop_oldest(Seq{3}, kEpoch, rows(3)));
    first.count_acknowledged(rows(4));
    LossesInMemory second;
    second.restore({first.ranges(), first.counts(), first.acknowledged(), first.since_drop(), first.last_dropped()});
    second.acknowledge(~0ULL - 1);  // no batch of the process before can have named them for sure
    ASSERT_TRUE(second.drop_oldest(Seq{5}, kEpoch, rows(5)));
    EXPECT_EQ(second.ranges().size(), 3U);
    EXPECT_EQ(sum(second.counts()), rows(1)[0].row_count + rows(3)[0].row_count + rows(5)[0].row_count);
    EXPECT_EQ(sum(second.acknowledged()), rows(2)[0].row_count + rows(4)[0].row_count);
    EXPECT_EQ(second.last_dropped(), Seq{5});
}

// The sealer begins a new epoch where the last one that lost definitions is its own.
TEST(DeliveryLosses, TellsTheLastEpochOfWhichDefinitionsAreLost) {
    constexpr Series kStacks{Kind::kStack, kNoEvent};
    const std::array<SealedRecord::Rows, 1> definitions{SealedRecord::Rows{kStacks, 3}};
    std::vector<std::uint64_t> memory(1'024);
    SpscRing ring{std::as_writable_bytes(std::span{memory})};
    LossesInMemory losses;
    const auto reported = [&] {
        EXPECT_TRUE(losses.report(ring));
        LossReport report;
        const auto record = ring.acquire();
        std::memcpy(&report, record.data(), sizeof report);
        ring.release();
        return report;
    };
    losses.count_refused(EpochNumber{4}, rows(1));
    EXPECT_FALSE(reported().has_lost_definitions);
    losses.count_refused(EpochNumber{5}, definitions);
    EXPECT_TRUE(reported().has_lost_definitions);
    losses.count_refused(EpochNumber{7}, definitions);
    EXPECT_EQ(reported().lost_definitions_epoch, EpochNumber{7});
    losses.count_refused(EpochNumber{6}, definitions);  // refused late
    EXPECT_EQ(reported().lost_definitions_epoch, EpochNumber{7});
    losses.count_refused(EpochNumber{8}, rows(1));
    EXPECT_EQ(reported().lost_definitions_epoch, EpochNumber{7}) << "no definitions among these";
}

// A batch that names all of a notice's ranges was acknowledged, again and again.
TEST(DeliveryLosses, ForgetsARangeOnceItIsKnownToBeNamed) {
    std::vector<std::uint64_t> memory(1'024);
    SpscRing ring{std::as_writable_bytes(std::span{memory})};
    LossesInMemory losses;
    for (const std::uint64_t seq : {1U, 5U, 9U}) {
        ASSERT_TRUE(losses.drop_newest(Seq{seq}, kEpoch, rows(seq)));
        EXPECT_TRUE(losses.report(ring));
    }
    for (int i = 0; i < 3; ++i) {
        losses.acknowledge(1);
        ASSERT_EQ(losses.ranges().size(), 2U) << i;
    }
    losses.acknowledge(2);
    ASSERT_EQ(losses.ranges().size(), 1U);
    EXPECT_EQ(losses.ranges()[0], (SeqRange{Seq{9}, Seq{9}}));
    losses.acknowledge(3);
    EXPECT_TRUE(losses.ranges().empty());
}

}  // namespace
}  // namespace perfleet::delivery_losses_test
