// Conformance of engines: batches and blocks.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "storage/store/testing/conformance.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::conformance::conformance_test {
namespace {

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
    ASSERT_TRUE(visit_blocks(*store_, partition_in(kBucket), kTarget, kSession, kSamples,
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
    sample.entry(kSamples, CountName::kProduced, ~0ULL).entry(kSamples, CountName::kLostRingFull, 0);
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
                                        EXPECT_EQ(record.counts, batch.record.counts);
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
    ASSERT_TRUE(visit_blocks(*store_, partition_in(kBucket), kTarget, kSession, kSamples,
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
        auto visited = visit_blocks(
            *store_, partition_in(kBucket), kTarget, kSession, series, [&](const BlockKey&, std::string_view block) {
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

TEST_P(StoreConformance, WritingOutTheLogChangesNothing) {
    define();
    put({sample_batch(Seq{1}, {1}), sample_batch(Seq{2}, {1})});
    const auto before = block_seqs();
    ASSERT_FALSE(before.empty());
    EXPECT_TRUE(store_->write_out_log().ok());
    EXPECT_EQ(block_seqs(), before);
    EXPECT_TRUE(store_->write_out_log().ok()) << "of an empty log";
    put({sample_batch(Seq{3}, {1})});
    reopen();
    EXPECT_EQ(block_seqs().size(), before.size() + 1);
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

TEST_P(StoreConformance, IsReadByOtherThreadsWhileItIsWritten) {
    define();
    std::atomic<bool> is_done{false};
    std::thread reader{[&] {
        std::size_t seen = 0;
        while (!is_done) {
            const auto blocks = block_seqs();
            const auto batches = seqs();
            EXPECT_TRUE(std::is_sorted(blocks.begin(), blocks.end()));
            EXPECT_GE(blocks.size(), seen);
            EXPECT_GE(batches.size(), blocks.size());
            seen = batches.size();
        }
    }};
    for (std::uint64_t seq = 1; seq <= 200; ++seq) {
        put({sample_batch(Seq{seq}, {seq})});
        EXPECT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{seq}).ok());
    }
    is_done = true;
    reader.join();
    EXPECT_EQ(block_seqs().size(), 200U);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreConformance, testing::ValuesIn(test_engines()),
                         [](const auto& engine) { return std::string{engine_name(engine.param)}; });

}  // namespace
}  // namespace perfleet::conformance::conformance_test
