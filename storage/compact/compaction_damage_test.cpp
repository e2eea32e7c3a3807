// Compaction in stores with damage, of older formats, and under engines that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "storage/block/block.h"
#include "storage/engine/memory_engine.h"
#include "storage/engine/testing/engine_over.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "storage/read/keyed_reads.h"
#include "storage/store/keyed_store.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::compaction_damage_test {
namespace {

constexpr TargetId kTarget{17};
constexpr SessionId kSession{0xabc, 0xdef};
constexpr BucketNumber kBucket{400'000};
constexpr Series kSeries{Kind::kCounter, EventNumber{0}};
constexpr UtcNs kLater{2'000'000'000 * kNsPerSecond};

// An engine in memory that behaves as a test chooses.
class ObservedEngine : public EngineOver {
public:
    explicit ObservedEngine(MemoryEngine& memory) : EngineOver{memory} {}

    std::function<Result<Done>(const Changes&)> before_write;
    bool recovers = false;

    Result<bool> recover(GoOn) override { return std::exchange(recovers, false); }
    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        if (before_write) {
            PERFLEET_TRY(before_write(changes));
        }
        return engine().write(domain, guard, changes);
    }
};

class CompactionUnderDamage : public ::testing::Test {
protected:
    void SetUp() override {
        auto engine = std::make_unique<ObservedEngine>(memory_);
        engine_ = engine.get();
        auto store = open_keyed_store(std::move(engine), "/data");
        ASSERT_TRUE(store.ok()) << store.error().message;
        store_ = std::move(*store);
        ASSERT_TRUE(store_->define(partition_, sample_session(kTarget, kSession)).ok());
        for (std::uint64_t seq = 1; seq <= 12; ++seq) {
            put(seq);
        }
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{12}).ok());
        ASSERT_TRUE(store_->sync().ok());
    }

    void put(std::uint64_t seq) {
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, kBucket};
        batch.add(kSeries, {{ColumnId::kTime, {seq, seq}}});
        ASSERT_TRUE(store_->put(partition_, std::vector{batch.build()}).ok());
    }

    [[nodiscard]] std::string block_of(std::uint64_t seq) const {
        return block_key({partition_, kTarget, kSession, kSeries, Seq{seq}});
    }
    [[nodiscard]] std::string record_of(std::uint64_t seq) const {
        return partition_batch_key(partition_, {kTarget, kSession, Seq{seq}});
    }

    std::string flip(const std::string& key) {
        std::string bytes = **memory_.get(key);
        bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
        EXPECT_TRUE(memory_.write(domain_of(partition_), 0, {{{key, bytes}}, {}}).ok());
        return bytes;
    }
    void remove(const std::string& key) { ASSERT_TRUE(memory_.write(domain_of(partition_), 0, {{}, {key}}).ok()); }

    Result<Done> compact() {
        return store_->compact(kLater, [](const CompactionStep&) { return Visit::kContinue; });
    }

    // The first seqs of the blocks, readable or not.
    std::vector<std::uint64_t> block_seqs() {
        std::vector<std::uint64_t> seqs;
        EXPECT_TRUE(
            visit_blocks(*store_, partition_, kTarget, kSession, kSeries, [&](const BlockKey& key, std::string_view) {
                seqs.push_back(key.first_seq.value);
                return Visit::kContinue;
            }).ok());
        return seqs;
    }
    std::vector<std::uint64_t> record_seqs() {
        std::vector<std::uint64_t> seqs;
        (void)store_->visit_batches(partition_, kTarget, kSession, [&](const BatchRecord& record) {
            seqs.push_back(record.seq.value);
            return Visit::kContinue;
        });
        return seqs;
    }

    // Of every seq that a block speaks of.
    std::multiset<std::uint64_t> rows() {
        std::multiset<std::uint64_t> found;
        EXPECT_TRUE(
            visit_blocks(*store_, partition_, kTarget, kSession, kSeries, [&](const BlockKey&, std::string_view bytes) {
                const auto block = parse_block_untrusted(bytes);
                DecodedRows decoded;
                if (block.ok() && decoded.decode(*block).ok()) {
                    const auto times = decoded.integers(ColumnId::kTime);
                    found.insert(times.begin(), times.end());
                }
                return Visit::kContinue;
            }).ok());
        return found;
    }

    using Seqs = std::vector<std::uint64_t>;
    Partition partition_ = partition_of(kTarget, kBucket);
    MemoryEngine memory_;
    ObservedEngine* engine_ = nullptr;
    std::unique_ptr<Store> store_;
};

TEST_F(CompactionUnderDamage, ADamagedBlockStaysAsItIsAndIsCompactedAround) {
    const std::string damaged = flip(block_of(5));
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(block_seqs(), (Seqs{1, 5, 6}));
    EXPECT_EQ(**memory_.get(block_of(5)), damaged);
    EXPECT_EQ(rows().size(), 22U);
    EXPECT_EQ(record_seqs().size(), 12U);
}

TEST_F(CompactionUnderDamage, AMissingBlockStaysMissed) {
    remove(block_of(5));
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(block_seqs(), (Seqs{1, 6}));
    EXPECT_EQ(rows().size(), 22U);
}

TEST_F(CompactionUnderDamage, ADamagedRecordAndItsBlockStayAsTheyAre) {
    const std::string damaged = flip(record_of(5));
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(block_seqs(), (Seqs{1, 5, 6}));
    EXPECT_EQ(record_seqs(), (Seqs{1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12}));
    EXPECT_EQ(**memory_.get(record_of(5)), damaged);
    EXPECT_EQ(rows().size(), 24U);
}

TEST_F(CompactionUnderDamage, ABlockWithoutARecordStaysAsItIs) {
    remove(record_of(5));
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(block_seqs(), (Seqs{1, 5, 6}));
    EXPECT_EQ(rows().size(), 24U);
}

// What an interrupted compaction left: some blocks compacted, their records not.
TEST_F(CompactionUnderDamage, CompactedBlocksWhoseRecordsAreNotAreLeftAlone) {
    ASSERT_TRUE(store_->compact(kLater, [](const CompactionStep&) { return Visit::kStop; }).ok());
    EXPECT_EQ(block_seqs(), (Seqs{1}));
    put(13);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{13}).ok());
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(block_seqs(), (Seqs{1, 13}));
    EXPECT_EQ(rows().size(), 26U);
    EXPECT_EQ(record_seqs().size(), 13U);
    EXPECT_FALSE((*memory_.get(record_of(1))).has_value());
}

TEST_F(CompactionUnderDamage, ADamagedCompactedBlockHidesNothingElse) {
    flip(block_of(5));
    ASSERT_TRUE(compact().ok());
    flip(block_of(6));
    EXPECT_EQ(rows(), (std::multiset<std::uint64_t>{1, 1, 2, 2, 3, 3, 4, 4}));
    EXPECT_EQ(record_seqs().size(), 12U);
}

TEST_F(CompactionUnderDamage, WhatIsCompactedCountsWhereSmallOnesAreBackBesideIt) {
    const std::string block = **memory_.get(block_of(5));
    const std::string record = **memory_.get(record_of(5));
    ASSERT_TRUE(compact().ok());
    ASSERT_TRUE(memory_.write(domain_of(partition_), 0, {{{block_of(5), block}, {record_of(5), record}}, {}}).ok());
    EXPECT_EQ(block_seqs(), (Seqs{1}));
    EXPECT_EQ(rows().size(), 24U);
    Seqs seqs = record_seqs();
    std::sort(seqs.begin(), seqs.end());
    EXPECT_EQ(seqs, (Seqs{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(rows().size(), 24U);
    flip(block_of(1));
    EXPECT_EQ(block_seqs(), (Seqs{1, 5})) << "where the joined one is damaged, the small one is all there is";
}

// Its seq lies between those of the compacted one, but it was missing when that was made.
TEST_F(CompactionUnderDamage, ABlockThatIsNoPartOfTheCompactedOneAroundItCounts) {
    const std::string block = **memory_.get(block_of(5));
    const std::string record = **memory_.get(record_of(5));
    remove(block_of(5));
    remove(record_of(5));
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(rows().size(), 22U);
    ASSERT_TRUE(memory_.write(domain_of(partition_), 0, {{{block_of(5), block}, {record_of(5), record}}, {}}).ok());
    EXPECT_EQ(rows().size(), 24U);
    EXPECT_EQ(record_seqs().size(), 12U);
}

TEST_F(CompactionUnderDamage, AnEngineThatFailsLeavesTheStoreAsItWas) {
    std::size_t write_count = 0;
    engine_->before_write = [&](const Changes&) -> Result<Done> {
        ++write_count;
        return Error{ErrorCode::kIo, "no"};
    };
    const auto compacted = compact();
    ASSERT_FALSE(compacted.ok());
    EXPECT_EQ(compacted.error().code, ErrorCode::kIo);
    EXPECT_EQ(write_count, 1U);
    EXPECT_EQ(block_seqs().size(), 12U);
    engine_->before_write = nullptr;
    engine_->recovers = true;
    put(13);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{13}).ok());
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(block_seqs(), (Seqs{1}));
    EXPECT_EQ(rows().size(), 26U);
}

// The writer went on from what is on disk, which was less, after a step had been read: it isn't brought back.
TEST_F(CompactionUnderDamage, AStepMadeBeforeTheStoreWasOpenedAnewIsThrownAway) {
    int step_count = 0;
    ASSERT_TRUE(store_
                    ->compact(kLater,
                              [&](const CompactionStep&) {
                                  if (++step_count == 1) {
                                      remove(record_of(3));
                                      engine_->recovers = true;
                                      put(13);
                                  }
                                  return Visit::kContinue;
                              })
                    .ok());
    ASSERT_TRUE(compact().ok());
    EXPECT_EQ(record_seqs(), (Seqs{1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
    EXPECT_FALSE((*memory_.get(record_of(4))).has_value()) << "joined, by what is there now";
}

TEST_F(CompactionUnderDamage, WhatIsDroppedWhileItIsCompactedStaysDropped) {
    ASSERT_TRUE(store_
                    ->compact(kLater,
                              [&](const CompactionStep&) {
                                  EXPECT_TRUE(store_->drop(partition_).ok());
                                  return Visit::kContinue;
                              })
                    .ok());
    std::size_t key_count = 0;
    ASSERT_TRUE(memory_
                    .visit(partition_range(partition_),
                           [&](std::string_view, std::string_view) {
                               ++key_count;
                               return Visit::kContinue;
                           })
                    .ok());
    EXPECT_EQ(key_count, 0U);
    EXPECT_EQ(store_->expired(kTarget, kSession)->front().second, 24U);
}

}  // namespace
}  // namespace perfleet::compaction_damage_test
