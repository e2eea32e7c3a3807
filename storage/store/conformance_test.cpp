// What every engine must do; run once an engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "storage/block/block.h"
#include "storage/store/sample_batches.h"
#include "storage/store/store.h"
#include "storage/store/test_stores.h"

namespace perfleet {
namespace {

constexpr TargetId kTarget{17};
constexpr SessionId kSession{0xabc, 0xdef};
constexpr BucketNumber kBucket{480'000};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

Partition partition_in(BucketNumber bucket) { return partition_of(kTarget, bucket); }

AdmittedBatch sample_batch(Seq seq, std::vector<std::uint64_t> times, BucketNumber bucket = kBucket,
                           SessionId session = kSession, TargetId target = kTarget) {
    SampleBatch batch{target, session, seq, EpochNumber{bucket.value - kBucket.value}, bucket};
    batch.add(kSamples, {{ColumnId::kTime, std::move(times)}});
    batch.tally(kSamples, TallyName::kProduced, 10 * seq.value);
    return batch.build();
}

class StoreConformance : public testing::TestWithParam<TestEngine> {
protected:
    void SetUp() override {
        store_ = stores_.open();
        ASSERT_NE(store_, nullptr);
    }

    // Through disk, where there is one.
    void reopen() { store_ = stores_.reopen(std::move(store_)); }

    void define(BucketNumber bucket = kBucket, SessionId session = kSession, TargetId target = kTarget) {
        ASSERT_TRUE(store_->define(partition_of(target, bucket), sample_session(target, session)).ok());
    }

    std::vector<PutOutcome> put(const std::vector<AdmittedBatch>& batches, BucketNumber bucket = kBucket) {
        auto outcomes = store_->put(partition_in(bucket), batches);
        EXPECT_TRUE(outcomes.ok()) << outcomes.error().message;
        return outcomes.ok() ? *outcomes : std::vector<PutOutcome>{};
    }

    std::vector<std::uint64_t> seqs(BucketNumber bucket = kBucket, SessionId session = kSession) {
        std::vector<std::uint64_t> found;
        EXPECT_TRUE(store_
                        ->visit_batches(partition_in(bucket), kTarget, session,
                                        [&](const BatchRecord& record) {
                                            EXPECT_EQ(record.bucket, bucket);
                                            found.push_back(record.seq.value);
                                            return Visit::kContinue;
                                        })
                        .ok());
        return found;
    }

    std::vector<std::uint64_t> block_seqs(BucketNumber bucket = kBucket, SessionId session = kSession,
                                          Series series = kSamples) {
        std::vector<std::uint64_t> found;
        EXPECT_TRUE(store_
                        ->visit_blocks(partition_in(bucket), kTarget, session, series,
                                       [&](const BlockKey& key, std::string_view block) {
                                           auto view = parse_block_untrusted(block);
                                           EXPECT_TRUE(view.ok());
                                           EXPECT_EQ(view->header.first_seq, key.first_seq);
                                           found.push_back(key.first_seq.value);
                                           return Visit::kContinue;
                                       })
                        .ok());
        return found;
    }

    TestStores stores_{GetParam()};
    std::unique_ptr<Store> store_;
};

using Seqs = std::vector<std::uint64_t>;
using Outcomes = std::vector<PutOutcome>;

TEST_P(StoreConformance, StoresABatchOnce) {
    define();
    EXPECT_EQ(put({sample_batch(Seq{1}, {10, 20})}), Outcomes{PutOutcome::kStored});
    EXPECT_EQ(put({sample_batch(Seq{1}, {10, 20})}), Outcomes{PutOutcome::kDuplicate});
    EXPECT_EQ(put({sample_batch(Seq{1}, {10, 21})}), Outcomes{PutOutcome::kConflict});
    reopen();
    EXPECT_EQ(put({sample_batch(Seq{1}, {10, 20})}), Outcomes{PutOutcome::kDuplicate});
    EXPECT_EQ(put({sample_batch(Seq{1}, {10, 21})}), Outcomes{PutOutcome::kConflict});
    EXPECT_EQ(seqs(), Seqs{1});
    EXPECT_EQ(block_seqs(), Seqs{1});
}

TEST_P(StoreConformance, JudgesARepeatWithinACallAgainstTheFirst) {
    define();
    EXPECT_EQ(put({sample_batch(Seq{1}, {10}), sample_batch(Seq{2}, {10}), sample_batch(Seq{1}, {10}),
                   sample_batch(Seq{2}, {11})}),
              (Outcomes{PutOutcome::kStored, PutOutcome::kStored, PutOutcome::kDuplicate, PutOutcome::kConflict}));
    EXPECT_EQ(seqs(), (Seqs{1, 2}));
}

TEST_P(StoreConformance, KnowsAKeyInWhateverPartitionItIs) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    define();
    define(kNext);
    EXPECT_EQ(put({sample_batch(Seq{1}, {10})}), Outcomes{PutOutcome::kStored});
    EXPECT_EQ(put({sample_batch(Seq{1}, {10}, kNext)}, kNext), Outcomes{PutOutcome::kConflict});
    reopen();
    EXPECT_EQ(put({sample_batch(Seq{1}, {10}, kNext)}, kNext), Outcomes{PutOutcome::kConflict});
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{1}).ok());
    EXPECT_EQ(put({sample_batch(Seq{1}, {10}, kNext)}, kNext), Outcomes{PutOutcome::kConflict});
    EXPECT_EQ(put({sample_batch(Seq{1}, {10})}), Outcomes{PutOutcome::kDuplicate});
    EXPECT_TRUE(seqs(kNext).empty());
    EXPECT_TRUE(block_seqs(kNext).empty());
}

TEST_P(StoreConformance, StoresAllOfACallOrNone) {
    define();
    constexpr SessionId kStranger{1, 1};
    const std::vector batches{sample_batch(Seq{1}, {10}), sample_batch(Seq{1}, {10}, kBucket, kStranger)};
    auto outcomes = store_->put(partition_in(kBucket), batches);
    ASSERT_FALSE(outcomes.ok());
    EXPECT_EQ(outcomes.error().code, ErrorCode::kInvalid) << outcomes.error().message;
    EXPECT_TRUE(seqs().empty());
    EXPECT_TRUE(block_seqs().empty());
    EXPECT_EQ(put({sample_batch(Seq{1}, {10})}), Outcomes{PutOutcome::kStored}) << "the failed call left no trace";
}

TEST_P(StoreConformance, VisitsInTheSameOrderWhateverTheOrderOfPuts) {
    define();
    std::vector<AdmittedBatch> batches;
    Seqs expected;
    for (std::uint64_t seq = 1; seq <= 300; ++seq) {
        batches.push_back(sample_batch(Seq{seq}, {seq}));
        expected.push_back(seq);
    }
    std::shuffle(batches.begin(), batches.end(), std::mt19937_64{5});
    for (const AdmittedBatch& batch : batches) {
        EXPECT_EQ(put({batch}), Outcomes{PutOutcome::kStored});
    }
    EXPECT_EQ(seqs(), expected);
    EXPECT_EQ(block_seqs(), expected);
    reopen();
    EXPECT_EQ(seqs(), expected);
    EXPECT_EQ(block_seqs(), expected);
}

TEST_P(StoreConformance, StopsAVisitWhenAsked) {
    define();
    put({sample_batch(Seq{1}, {1}), sample_batch(Seq{2}, {2}), sample_batch(Seq{3}, {3})});
    int batch_count = 0;
    int block_count = 0;
    ASSERT_TRUE(
        store_
            ->visit_batches(partition_in(kBucket), kTarget, kSession,
                            [&](const BatchRecord&) { return ++batch_count == 2 ? Visit::kStop : Visit::kContinue; })
            .ok());
    ASSERT_TRUE(store_
                    ->visit_blocks(partition_in(kBucket), kTarget, kSession, kSamples,
                                   [&](const BlockKey&, std::string_view) {
                                       return ++block_count == 2 ? Visit::kStop : Visit::kContinue;
                                   })
                    .ok());
    EXPECT_EQ(batch_count, 2);
    EXPECT_EQ(block_count, 2);
}

TEST_P(StoreConformance, KeepsEverythingOfABatchRecord) {
    define();
    SampleBatch sample{kTarget, kSession, Seq{9}, EpochNumber{3}, kBucket};
    sample.add(kSamples, {{ColumnId::kTime, {30, 10, 20}}});
    sample.add_strings({{1, "bash"}});
    sample.tally(kSamples, TallyName::kProduced, ~0ULL).tally(kSamples, TallyName::kLostRingFull, 0);
    sample.dropped(Seq{2}, Seq{4}).clock_point({Ticks{5}, UtcNs{-6}, 7});
    const AdmittedBatch batch = sample.build();
    put({batch});
    reopen();
    int count = 0;
    ASSERT_TRUE(store_
                    ->visit_batches(partition_in(kBucket), kTarget, kSession,
                                    [&](const BatchRecord& record) {
                                        ++count;
                                        EXPECT_EQ(record.seq, Seq{9});
                                        EXPECT_EQ(record.epoch, EpochNumber{3});
                                        EXPECT_EQ(record.bucket, kBucket);
                                        EXPECT_EQ(record.seal, batch.record.seal);
                                        EXPECT_EQ(record.oldest_retained_seq, batch.record.oldest_retained_seq);
                                        EXPECT_EQ(record.tallies, batch.record.tallies);
                                        EXPECT_EQ(record.dropped, batch.record.dropped);
                                        EXPECT_EQ(record.clock_points, batch.record.clock_points);
                                        EXPECT_EQ(record.rows.size(), 2U);
                                        EXPECT_EQ(record.rows[0].series, kSamples);
                                        EXPECT_EQ(record.rows[0].row_count, 3U);
                                        EXPECT_EQ(record.rows[0].first_ticks, Ticks{10});
                                        EXPECT_EQ(record.rows[0].last_ticks, Ticks{30});
                                        EXPECT_EQ(record.rows[1].series.kind, Kind::kString);
                                        return Visit::kContinue;
                                    })
                    .ok());
    EXPECT_EQ(count, 1);
}

TEST_P(StoreConformance, GivesBlocksAsTheyCame) {
    define();
    const AdmittedBatch batch = sample_batch(Seq{1}, {10, 20, 30});
    put({batch});
    reopen();
    std::string stored;
    ASSERT_TRUE(
        store_
            ->visit_blocks(partition_in(kBucket), kTarget, kSession, kSamples,
                           [&](const BlockKey& key, std::string_view block) {
                               EXPECT_EQ(key, (BlockKey{partition_in(kBucket), kTarget, kSession, kSamples, Seq{1}}));
                               stored = block;
                               return Visit::kContinue;
                           })
            .ok());
    EXPECT_EQ(stored, batch.series[0].block);
}

// One row at least of each kind, from integers to the store and back.
TEST_P(StoreConformance, KeepsRowsOfEveryKind) {
    define();
    std::mt19937_64 random{11};
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        const Series series{static_cast<Kind>(raw), raw <= 2 ? EventNumber{0} : kNoEvent};
        SampleIntegers integers;
        SampleBytes bytes;
        constexpr std::size_t kRows = 5;
        for (const ColumnRule& rule : columns_of(series.kind)) {
            for (std::size_t row = 0; row < kRows; ++row) {
                if (rule.shape == ColumnShape::kBytes) {
                    bytes[rule.id].push_back(std::string(random() % 20, static_cast<char>('a' + row)));
                } else {
                    integers[rule.id].push_back(rule.max == ~0ULL ? random() : random() % (rule.max + 1));
                }
            }
        }
        SampleBatch sample{kTarget, kSession, Seq{raw}, EpochNumber{0}, kBucket};
        sample.add(series, integers, bytes);
        ASSERT_EQ(put({sample.build()}), Outcomes{PutOutcome::kStored});
        int block_count = 0;
        auto visited = store_->visit_blocks(
            partition_in(kBucket), kTarget, kSession, series, [&](const BlockKey&, std::string_view block) {
                ++block_count;
                DecodedRows rows;
                auto view = parse_block_untrusted(block);
                EXPECT_TRUE(view.ok());
                auto decoded = rows.decode(*view);
                EXPECT_TRUE(decoded.ok()) << decoded.error().message;
                EXPECT_EQ(rows.row_count(), kRows);
                for (const ColumnRule& rule : columns_of(series.kind)) {
                    for (std::size_t row = 0; row < kRows; ++row) {
                        if (rule.shape == ColumnShape::kBytes) {
                            EXPECT_EQ(rows.bytes(rule.id, row), bytes[rule.id][row]);
                            EXPECT_EQ(rows.integers(rule.sizes)[row], bytes[rule.id][row].size());
                        } else if (std::none_of(columns_of(series.kind).begin(), columns_of(series.kind).end(),
                                                [&](const ColumnRule& other) {
                                                    return other.shape == ColumnShape::kBytes && other.sizes == rule.id;
                                                })) {
                            EXPECT_EQ(rows.integers(rule.id)[row], integers[rule.id][row]) << column_name(rule.id);
                        }
                    }
                }
                return Visit::kContinue;
            });
        EXPECT_TRUE(visited.ok());
        EXPECT_EQ(block_count, 1) << kind_name(series.kind);
    }
}

TEST_P(StoreConformance, KeepsPartitionsTargetsAndSessionsApart) {
    constexpr SessionId kOther{0xabc, 0xdf0};
    constexpr TargetId kFar{kTarget.value + 1};
    constexpr BucketNumber kNext{kBucket.value + 1};
    define();
    define(kNext);
    define(kBucket, kOther);
    define(kBucket, kSession, kFar);
    put({sample_batch(Seq{1}, {1}), sample_batch(Seq{2}, {1}, kBucket, kOther)});
    put({sample_batch(Seq{3}, {1}, kNext)}, kNext);
    const std::vector far{sample_batch(Seq{1}, {1}, kBucket, kSession, kFar)};
    auto outcomes = store_->put(partition_of(kFar, kBucket), far);
    ASSERT_TRUE(outcomes.ok());
    EXPECT_EQ(*outcomes, Outcomes{PutOutcome::kStored});
    reopen();

    auto partitions = store_->partitions();
    ASSERT_TRUE(partitions.ok());
    EXPECT_EQ(*partitions, (std::vector{partition_in(kBucket), partition_of(kFar, kBucket), partition_in(kNext)}));
    EXPECT_EQ(seqs(), Seqs{1});
    EXPECT_EQ(seqs(kBucket, kOther), Seqs{2});
    EXPECT_EQ(seqs(kNext), Seqs{3});
    EXPECT_EQ(block_seqs(kBucket, kOther), Seqs{2});
    EXPECT_TRUE(block_seqs(kBucket, kOther, {Kind::kSample, EventNumber{1}}).empty());

    auto here = store_->sessions(partition_in(kBucket));
    ASSERT_TRUE(here.ok());
    EXPECT_EQ(*here, (std::vector{sample_session(kTarget, kSession), sample_session(kTarget, kOther)}));
    auto there = store_->sessions(partition_of(kFar, kBucket));
    ASSERT_TRUE(there.ok());
    EXPECT_EQ(*there, std::vector{sample_session(kFar, kSession)});
    auto all = store_->all_sessions();
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(*all, (std::vector{sample_session(kTarget, kSession), sample_session(kTarget, kOther),
                                 sample_session(kFar, kSession)}));
}

TEST_P(StoreConformance, DefinesASessionAgainWithNewWordsButTheSameMeaning) {
    define();
    SessionRecord again = sample_session(kTarget, kSession);
    again.labels = {{"rack", "9"}};
    ASSERT_TRUE(store_->define(partition_in(kBucket), again).ok());
    auto all = store_->all_sessions();
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(*all, std::vector{again});

    again.events.pop_back();
    auto refused = store_->define(partition_in(kBucket), again);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    again = sample_session(kTarget, kSession);
    again.ticks_per_second = 1;
    EXPECT_FALSE(store_->define(partition_in(kBucket), again).ok());
}

TEST_P(StoreConformance, CountsTheRowsOfADroppedPartitionAsExpired) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    define();
    define(kNext);
    SampleBatch sample{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
    sample.add(kSamples, {{ColumnId::kTime, {1, 2, 3}}}).add_strings({{1, "a"}, {2, "b"}});
    put({sample.build(), sample_batch(Seq{2}, {4})});
    put({sample_batch(Seq{3}, {5}, kNext)}, kNext);
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());

    const std::vector<std::pair<Series, std::uint64_t>> expected{{kSamples, 4}, {{Kind::kString, kNoEvent}, 2}};
    for (int round = 0; round < 3; ++round) {
        auto expired = store_->expired(kTarget, kSession);
        ASSERT_TRUE(expired.ok());
        EXPECT_EQ(*expired, expected);
        EXPECT_TRUE(seqs().empty());
        EXPECT_TRUE(block_seqs().empty());
        EXPECT_EQ(seqs(kNext), Seqs{3});
        auto partitions = store_->partitions();
        ASSERT_TRUE(partitions.ok());
        EXPECT_EQ(*partitions, std::vector{partition_in(kNext)});
        auto all = store_->all_sessions();
        ASSERT_TRUE(all.ok());
        EXPECT_EQ(all->size(), 1U);
        if (round == 0) {
            reopen();
        } else {
            ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok()) << "a second drop counts nothing";
        }
    }
}

TEST_P(StoreConformance, CountsWhatComesAfterTheDropOnce) {
    define();
    put({sample_batch(Seq{1}, {1})});
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());
    EXPECT_EQ(put({sample_batch(Seq{2}, {1, 2})}), Outcomes{PutOutcome::kExpired});
    EXPECT_EQ(put({sample_batch(Seq{2}, {1, 2})}), Outcomes{PutOutcome::kDuplicate});
    EXPECT_EQ(put({sample_batch(Seq{2}, {1, 3})}), Outcomes{PutOutcome::kConflict});
    EXPECT_EQ(put({sample_batch(Seq{1}, {1})}), Outcomes{PutOutcome::kDuplicate}) << "it was counted by the drop";
    reopen();
    EXPECT_EQ(put({sample_batch(Seq{2}, {1, 2})}), Outcomes{PutOutcome::kDuplicate});
    EXPECT_EQ(put({sample_batch(Seq{1}, {1})}), Outcomes{PutOutcome::kDuplicate});
    auto expired = store_->expired(kTarget, kSession);
    ASSERT_TRUE(expired.ok());
    EXPECT_EQ(*expired, (std::vector<std::pair<Series, std::uint64_t>>{{kSamples, 3}}));
    EXPECT_TRUE(seqs().empty());
}

TEST_P(StoreConformance, DoesntBringADroppedPartitionBack) {
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok()) << "also one that was never there";
    define();
    EXPECT_EQ(put({sample_batch(Seq{1}, {1})}), Outcomes{PutOutcome::kExpired});
    auto partitions = store_->partitions();
    ASSERT_TRUE(partitions.ok());
    EXPECT_TRUE(partitions->empty());
    auto all = store_->all_sessions();
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->size(), 1U);
}

TEST_P(StoreConformance, NeverLowersAWatermark) {
    const auto watermark = [&] {
        auto seq = store_->watermark(kTarget, kSession);
        EXPECT_TRUE(seq.ok());
        return seq->value;
    };
    EXPECT_EQ(watermark(), 0U);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{7}).ok());
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{5}).ok());
    EXPECT_EQ(watermark(), 7U);
    reopen();
    EXPECT_EQ(watermark(), 7U);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{6}).ok());
    EXPECT_EQ(watermark(), 7U);
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{~0ULL}).ok());
    reopen();
    EXPECT_EQ(watermark(), ~0ULL);
    define();
    EXPECT_EQ(put({sample_batch(Seq{~0ULL}, {1})}), Outcomes{PutOutcome::kDuplicate});
}

TEST_P(StoreConformance, StoresNothingAtOrBelowTheWatermark) {
    define();
    put({sample_batch(Seq{1}, {1})});
    ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{3}).ok());
    EXPECT_EQ(put({sample_batch(Seq{3}, {1}), sample_batch(Seq{1}, {1}), sample_batch(Seq{1}, {2}),
                   sample_batch(Seq{4}, {1})}),
              (Outcomes{PutOutcome::kDuplicate, PutOutcome::kDuplicate, PutOutcome::kConflict, PutOutcome::kStored}));
    EXPECT_EQ(seqs(), (Seqs{1, 4}));
}

TEST_P(StoreConformance, KeepsTheFirstEndOfASession) {
    auto none = store_->session_end(kTarget, kSession);
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(none->has_value());
    SessionEnd first;
    first.last_seq = Seq{12};
    first.tallies = {{kSamples, TallyName::kProduced, 99}};
    first.dropped = {{Seq{3}, Seq{4}}};
    first.end_point = {Ticks{1}, UtcNs{2}, 3};
    SessionEnd second = first;
    second.last_seq = Seq{13};
    ASSERT_TRUE(store_->end_session(kTarget, kSession, first).ok());
    ASSERT_TRUE(store_->end_session(kTarget, kSession, second).ok());
    reopen();
    auto end = store_->session_end(kTarget, kSession);
    ASSERT_TRUE(end.ok() && end->has_value());
    EXPECT_EQ(**end, first);
}

TEST_P(StoreConformance, KeepsTheFirstContentOfAnImage) {
    const std::string build_id("\x00\x01\xff", 3);
    auto none = store_->image(build_id);
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(none->has_value());
    std::string bytes(3U << 20, '\0');
    std::mt19937_64 random{3};
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
    ASSERT_TRUE(store_->put_image(build_id, {2, bytes}).ok());
    ASSERT_TRUE(store_->put_image(build_id, {1, "other"}).ok());
    ASSERT_TRUE(store_->put_image("\x01", {1, ""}).ok());
    reopen();
    auto image = store_->image(build_id);
    ASSERT_TRUE(image.ok() && image->has_value());
    EXPECT_EQ((*image)->sort, 2);
    EXPECT_EQ((*image)->bytes, bytes);
    auto empty = store_->image("\x01");
    ASSERT_TRUE(empty.ok() && empty->has_value());
    EXPECT_EQ((*empty)->bytes, "");
    EXPECT_FALSE(store_->put_image("", {1, "x"}).ok());
    EXPECT_FALSE(store_->put_image(std::string(21, 'x'), {1, "x"}).ok());
}

TEST_P(StoreConformance, KnowsNothingOfWhatWasNeverThere) {
    auto partitions = store_->partitions();
    ASSERT_TRUE(partitions.ok());
    EXPECT_TRUE(partitions->empty());
    auto sessions = store_->sessions(partition_in(kBucket));
    ASSERT_TRUE(sessions.ok());
    EXPECT_TRUE(sessions->empty());
    auto expired = store_->expired(kTarget, kSession);
    ASSERT_TRUE(expired.ok());
    EXPECT_TRUE(expired->empty());
    EXPECT_TRUE(seqs().empty());
    EXPECT_TRUE(block_seqs().empty());
    EXPECT_TRUE(store_->refresh().ok());
    EXPECT_TRUE(store_->sync().ok());
}

TEST_P(StoreConformance, LetsAVisitorReadFromTheStore) {
    define();
    put({sample_batch(Seq{1}, {1}), sample_batch(Seq{2}, {1})});
    int count = 0;
    ASSERT_TRUE(store_
                    ->visit_batches(partition_in(kBucket), kTarget, kSession,
                                    [&](const BatchRecord&) {
                                        EXPECT_EQ(block_seqs(), (Seqs{1, 2}));
                                        ++count;
                                        return Visit::kContinue;
                                    })
                    .ok());
    EXPECT_EQ(count, 2);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreConformance, testing::ValuesIn(kTestEngines),
                         [](const auto& engine) { return std::string{engine_name(engine.param)}; });

}  // namespace
}  // namespace perfleet
