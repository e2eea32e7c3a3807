// Conformance of engines: compaction.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "storage/limits/store_limits.h"
#include "storage/store/testing/conformance.h"
#include "storage/store/testing/visit_blocks.h"

namespace perfleet::conformance::conformance_compaction_test {
namespace {

constexpr UtcNs kInTheBucket{std::int64_t{kBucket.value} * kBucketDurationS * kNsPerSecond};
constexpr UtcNs kLater{kInTheBucket.value + 100 * kBucketDurationS * kNsPerSecond};

// Rows of one series as a reader meets them, whatever blocks they stand in.
struct Row {
    std::uint64_t seq = 0;
    std::uint32_t epoch = 0;
    std::vector<std::uint64_t> integers;
    std::vector<std::string> bytes;

    friend bool operator==(const Row&, const Row&) = default;
};

class StoreCompaction : public StoreConformance {
protected:
    static std::vector<Row> rows_of(const StoreReader& store, Series series, BucketNumber bucket = kBucket) {
        std::vector<Row> rows;
        std::uint64_t last_seq = 0;
        EXPECT_TRUE(visit_blocks(store, partition_in(bucket), kTarget, kSession, series,
                                 [&](const BlockKey& key, std::string_view bytes) {
                                     add_rows(key, bytes, rows);
                                     EXPECT_TRUE(rows.empty() || key.first_seq.value > last_seq);
                                     last_seq = rows.empty() ? 0 : rows.back().seq;
                                     return Visit::kContinue;
                                 })
                        .ok());
        return rows;
    }

    static void add_rows(const BlockKey& key, std::string_view bytes, std::vector<Row>& rows) {
        const auto block = parse_block_untrusted(bytes);
        ASSERT_TRUE(block.ok()) << block.error().message;
        EXPECT_EQ(block->header.first_seq, key.first_seq);
        DecodedRows decoded;
        ASSERT_TRUE(decoded.decode(*block).ok());
        std::vector<BlockPart> parts = block->parts;
        if (parts.empty()) {
            parts.push_back({key.first_seq, block->header.row_count});
        }
        std::size_t index = 0;
        for (const BlockPart& part : parts) {
            for (std::uint32_t i = 0; i < part.row_count; ++i, ++index) {
                Row row{part.seq.value, block->header.epoch.value, {}, {}};
                for (const ColumnRule& rule : columns_of(key.series.kind)) {
                    if (rule.shape == ColumnShape::kInteger) {
                        row.integers.push_back(decoded.integers(rule.id)[index]);
                    } else {
                        row.bytes.emplace_back(decoded.bytes(rule.id, index));
                    }
                }
                rows.push_back(std::move(row));
            }
        }
        EXPECT_EQ(index, decoded.row_count());
    }

    static std::vector<BatchRecord> records_of(const StoreReader& store, BucketNumber bucket = kBucket) {
        std::vector<BatchRecord> records;
        EXPECT_TRUE(store
                        .visit_batches(partition_in(bucket), kTarget, kSession,
                                       [&](const BatchRecord& record) {
                                           records.push_back(record);
                                           return Visit::kContinue;
                                       })
                        .ok());
        return records;
    }

    std::vector<CompactionStep> compact(UtcNs now = kLater) {
        std::vector<CompactionStep> steps;
        const auto compacted = store_->compact(now, [&](const CompactionStep& step) {
            steps.push_back(step);
            return Visit::kContinue;
        });
        EXPECT_TRUE(compacted.ok()) << compacted.error().message;
        return steps;
    }

    void advance(std::uint64_t seq) { ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{seq}).ok()); }

    void put_small(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t seq = first; seq <= last; ++seq) {
            ASSERT_EQ(put({sample_batch(Seq{seq}, {10 * seq, 10 * seq + 1})}), Outcomes{PutOutcome::kStored});
        }
    }

    [[nodiscard]] std::size_t block_count(Series series = kSamples) {
        return block_seqs(kBucket, kSession, series).size();
    }
};

TEST_P(StoreCompaction, MakesOneBlockOfManyOnce) {
    define();
    put_small(1, 50);
    advance(50);
    const auto rows = rows_of(*store_, kSamples);
    const auto records = records_of(*store_);
    const auto size_before = store_->session_size_bytes({kTarget, kSession});
    const auto steps = compact();
    const auto size_after = store_->session_size_bytes({kTarget, kSession});
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_EQ(steps[0].blocks_in, 50U);
    EXPECT_EQ(steps[0].batches_in, 0U);
    EXPECT_EQ(steps[1].blocks_in, 0U);
    EXPECT_EQ(steps[1].batches_in, 50U);
    EXPECT_EQ(steps[0].size_bytes_in + steps[1].size_bytes_in - steps[0].size_bytes_out - steps[1].size_bytes_out,
              *size_before - *size_after);
    EXPECT_LT(steps[0].size_bytes_out * 10, steps[0].size_bytes_in);
    EXPECT_LT(steps[1].size_bytes_out * 3, steps[1].size_bytes_in);
    EXPECT_EQ(block_count(), 1U);
    EXPECT_EQ(rows_of(*store_, kSamples), rows);
    EXPECT_EQ(records_of(*store_), records);
    EXPECT_EQ(store_->partitions_to_compact(), 0U);
    reopen();
    EXPECT_EQ(rows_of(*store_, kSamples), rows);
    EXPECT_EQ(records_of(*store_), records);
    EXPECT_TRUE(compact().empty()) << "it is done";
}

TEST_P(StoreCompaction, WaitsForTheEndOfTheBucketAndTheWatermark) {
    define();
    put_small(1, 20);
    advance(10);
    EXPECT_TRUE(compact(kInTheBucket).empty());
    constexpr std::int64_t kOver = kInTheBucket.value + kBucketDurationS * kNsPerSecond;
    EXPECT_TRUE(compact(UtcNs{kOver + (limits::kCompactionGraceS - 1) * kNsPerSecond}).empty());
    EXPECT_EQ(compact(UtcNs{kOver + limits::kCompactionGraceS * kNsPerSecond}).size(), 2U);
    EXPECT_EQ(block_count(), 11U) << "what is above the watermark may still get company";
    EXPECT_EQ(store_->partitions_to_compact(), 1U);
    advance(20);
    EXPECT_EQ(compact().size(), 2U);
    EXPECT_EQ(block_count(), 2U);
    EXPECT_EQ(store_->partitions_to_compact(), 0U);
}

TEST_P(StoreCompaction, DoesNotWaitWhenManyHaveGathered) {
    define();
    constexpr std::uint64_t kMany = limits::kCompactedBatchesMax;
    put_small(1, kMany - 1);
    advance(kMany - 1);
    EXPECT_TRUE(compact(kInTheBucket).empty());
    put_small(kMany, kMany);
    advance(kMany);
    const auto rows = rows_of(*store_, kSamples);
    const auto records = records_of(*store_);
    EXPECT_EQ(compact(kInTheBucket).size(), 2U);
    EXPECT_EQ(block_count(), 1U);
    EXPECT_EQ(rows_of(*store_, kSamples), rows);
    EXPECT_EQ(records_of(*store_), records);
}

TEST_P(StoreCompaction, WaitsForAsManyAsItIsTold) {
    TestStores hasty{GetParam(), {.compact_batches = 4}};
    store_ = hasty.open();
    define();
    put_small(1, 3);
    advance(3);
    EXPECT_TRUE(compact(kInTheBucket).empty());
    put_small(4, 4);
    advance(4);
    EXPECT_EQ(compact(kInTheBucket).size(), 2U);
    put_small(5, 8);
    advance(8);
    EXPECT_EQ(compact(kInTheBucket).size(), 2U);
    EXPECT_EQ(block_count(), 2U);
    EXPECT_EQ(seqs().size(), 8U);
    store_.reset();
}

TEST_P(StoreCompaction, TakesUpWhatComesLate) {
    define();
    put_small(1, 10);
    advance(10);
    compact();
    EXPECT_EQ(store_->partitions_to_compact(), 0U);
    reopen();
    put_small(11, 15);
    advance(15);
    EXPECT_EQ(store_->partitions_to_compact(), 1U);
    EXPECT_EQ(compact().size(), 2U);
    EXPECT_EQ(block_count(), 2U) << "what was joined isn't joined again";
    EXPECT_EQ(rows_of(*store_, kSamples).size(), 30U);
    EXPECT_EQ(seqs().size(), 15U);
}

TEST_P(StoreCompaction, FillsBlocksToTheirLimit) {
    define();
    std::uint64_t seq = 0;
    for (const std::size_t row_count : {6'000U, 6'000U, 6'000U, 9'000U, 100U, 100U, 16'384U, 50U, 60U}) {
        std::vector<std::uint64_t> times(row_count);
        for (std::size_t i = 0; i < row_count; ++i) {
            times[i] = 100'000 * seq + i;
        }
        put({sample_batch(Seq{++seq}, times)});
    }
    advance(seq);
    const auto rows = rows_of(*store_, kSamples);
    compact();
    EXPECT_EQ(block_seqs(), (Seqs{1, 3, 4, 5, 7, 8}))
        << "large ones stay where they are, and nothing is joined over them";
    EXPECT_EQ(rows_of(*store_, kSamples), rows);
}

// The same key and seal is a duplicate, another a conflict, wherever the record stands.
TEST_P(StoreCompaction, KnowsEveryBatchThatItHasCompacted) {
    constexpr BucketNumber kNext{kBucket.value + 1};
    define();
    define(kNext);
    for (std::uint64_t seq = 1; seq <= 30; ++seq) {
        if (seq % 7 != 0) {  // the collector has dropped these
            put({sample_batch(Seq{seq}, {seq})});
        }
    }
    advance(30);
    compact();
    for (int round = 0; round < 2; ++round) {
        for (std::uint64_t seq = 1; seq <= 30; ++seq) {
            EXPECT_EQ(put({sample_batch(Seq{seq}, {seq})}), Outcomes{PutOutcome::kDuplicate}) << seq;
            const auto other = seq % 7 != 0 ? PutOutcome::kConflict : PutOutcome::kDuplicate;
            EXPECT_EQ(put({sample_batch(Seq{seq}, {seq + 1})}), Outcomes{other}) << seq;
            EXPECT_EQ(put({sample_batch(Seq{seq}, {seq}, kNext)}, kNext), Outcomes{other}) << seq;
        }
        reopen();
    }
    EXPECT_EQ(seqs().size(), 26U);
    EXPECT_EQ(rows_of(*store_, kSamples).size(), 26U);
}

TEST_P(StoreCompaction, CountsCompactedRowsAsExpiredOnce) {
    define();
    put_small(1, 12);
    advance(10);
    compact();
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());
    EXPECT_EQ(put({sample_batch(Seq{12}, {120, 121})}), Outcomes{PutOutcome::kDuplicate});
    EXPECT_EQ(put({sample_batch(Seq{13}, {130})}), Outcomes{PutOutcome::kExpired});
    const auto expired = store_->expired(kTarget, kSession);
    ASSERT_TRUE(expired.ok());
    ASSERT_EQ(expired->size(), 1U);
    EXPECT_EQ(expired->front().second, 25U);
    EXPECT_TRUE(seqs().empty());
    EXPECT_EQ(block_count(), 0U);
    EXPECT_TRUE(compact().empty());
    EXPECT_EQ(store_->partitions_to_compact(), 0U);
}

TEST_P(StoreCompaction, GoesOnWhereItWasStopped) {
    define();
    constexpr Series kOther{Kind::kCounter, EventNumber{1}};
    for (std::uint64_t seq = 1; seq <= 40; ++seq) {
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{static_cast<std::uint32_t>(seq / 10)}, kBucket};
        batch.add(kSamples, {{ColumnId::kTime, {seq}}}).add(kOther, {{ColumnId::kTime, {seq, seq}}});
        put({batch.build()});
    }
    advance(40);
    const auto samples = rows_of(*store_, kSamples);
    const auto others = rows_of(*store_, kOther);
    const auto records = records_of(*store_);
    std::size_t call_count = 0;
    for (bool is_done = false; !is_done; ++call_count) {
        is_done = true;
        ASSERT_TRUE(store_
                        ->compact(kLater,
                                  [&](const CompactionStep&) {
                                      is_done = false;
                                      return Visit::kStop;
                                  })
                        .ok());
        reopen();
        EXPECT_EQ(rows_of(*store_, kSamples), samples);
        EXPECT_EQ(rows_of(*store_, kOther), others);
        EXPECT_EQ(records_of(*store_), records);
    }
    EXPECT_EQ(call_count, 10U) << "four epochs of two series, the records, and a look";
    EXPECT_EQ(block_count(), 5U);
    EXPECT_EQ(block_count(kOther), 5U);
}

// Random small batches of every kind, several epochs, holes: compacted in several goes, every row and record is where
// it was.
TEST_P(StoreCompaction, ChangesNothingOfWhatIsRead) {
    std::mt19937_64 random{17};
    define();
    std::uint64_t seq = 0;
    std::uint32_t epoch = 0;
    std::uint64_t ticks = random();
    std::vector<Series> all;
    for (std::uint8_t raw = kKindFirst; raw <= kKindLast; ++raw) {
        all.push_back({static_cast<Kind>(raw), raw <= 2 ? EventNumber{0} : kNoEvent});
    }
    std::uint64_t produced = 0;
    for (int i = 0; i < 200; ++i) {
        seq += random() % 9 == 0 ? 2 : 1;
        epoch += random() % 40 == 0 ? 1 : 0;
        SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{epoch}, kBucket};
        for (const Series& series : all) {
            if (random() % 3 == 0) {
                continue;
            }
            SampleIntegers integers;
            SampleBytes bytes;
            const std::size_t row_count = 1 + random() % (random() % 10 == 0 ? 600 : 20);
            for (const ColumnRule& rule : columns_of(series.kind)) {
                for (std::size_t row = 0; row < row_count; ++row) {
                    if (rule.shape == ColumnShape::kBytes) {
                        bytes[rule.id].emplace_back(random() % 20, static_cast<char>(random()));
                    } else if (rule.id == ColumnId::kTime) {
                        integers[rule.id].push_back(ticks += random() % 1'000'000);
                    } else {
                        integers[rule.id].push_back(rule.max == ~0ULL ? random() : random() % (rule.max + 1));
                    }
                }
            }
            batch.add(series, integers, bytes);
            batch.entry(series, CountName::kProduced, produced += row_count);
        }
        if (random() % 5 == 0) {
            batch.dropped(Seq{seq + 100}, Seq{seq + 100 + random() % 3});
            batch.clock_point({Ticks{random()}, UtcNs{static_cast<std::int64_t>(random())}, random()});
        }
        put({batch.build()});
        if (random() % 30 == 0) {
            advance(seq);
            ASSERT_TRUE(store_
                            ->compact(UtcNs{kLater.value + i * 10 * kBucketDurationS * kNsPerSecond},
                                      [&](const CompactionStep&) {
                                          return random() % 4 == 0 ? Visit::kStop : Visit::kContinue;
                                      })
                            .ok());
        }
    }
    std::vector<std::vector<Row>> rows;
    for (const Series& series : all) {
        rows.push_back(rows_of(*store_, series));
    }
    const auto records = records_of(*store_);
    advance(seq);
    EXPECT_FALSE(compact(UtcNs{kLater.value * 2}).empty());
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(rows_of(*store_, all[i]), rows[i]) << kind_name(all[i].kind);
    }
    EXPECT_EQ(records_of(*store_), records);
    reopen();
    EXPECT_EQ(records_of(*store_), records);
}

// Rows that another build sealed with columns unknown to this one stay as they came, whole.
TEST_P(StoreCompaction, LeavesAloneWhatItDoesNotUnderstand) {
    define();
    for (std::uint64_t seq = 1; seq <= 9; ++seq) {
        AdmittedBatch batch = sample_batch(Seq{seq}, {seq});
        if (seq == 5) {
            const auto view = parse_block_untrusted(batch.series[0].block);
            std::vector<ColumnView> columns = view->columns;
            columns.push_back({ColumnId{0x4321}, static_cast<Codec>(99), columns.front().bytes});
            batch.series[0].block = encode_block(view->header, columns);
        }
        put({batch});
    }
    advance(9);
    const auto rows = rows_of(*store_, kSamples);
    compact();
    EXPECT_EQ(block_seqs(), (Seqs{1, 5, 6}));
    EXPECT_EQ(rows_of(*store_, kSamples), rows);
    bool is_there = false;
    ASSERT_TRUE(visit_blocks(*store_, partition_in(kBucket), kTarget, kSession, kSamples,
                             [&](const BlockKey&, std::string_view bytes) {
                                 const auto view = parse_block_untrusted(bytes);
                                 is_there = is_there || view->find(ColumnId{0x4321}) != nullptr;
                                 return Visit::kContinue;
                             })
                    .ok());
    EXPECT_TRUE(is_there);
}

TEST_P(StoreCompaction, LeavesACursorWhatItBeganToReadAndSoDoesADrop) {
    define();
    for (std::uint64_t seq = 1; seq <= 9; ++seq) {
        put_small(seq, seq);
    }
    advance(9);
    BlockCursor cursor = store_->blocks(partition_in(kBucket), kTarget, kSession, kSamples);
    Seqs found{cursor.next()->key.first_seq.value};
    compact();
    EXPECT_EQ(block_seqs(), (Seqs{1}));
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());
    ASSERT_TRUE(store_->refresh().ok());
    EXPECT_EQ(block_seqs(), Seqs{});
    for (auto at = cursor.next(); at.ok() && at->step == CursorStep::kItem; at = cursor.next()) {
        EXPECT_TRUE(parse_block_untrusted(at->value).ok());
        found.push_back(at->key.first_seq.value);
    }
    EXPECT_EQ(found, (Seqs{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// From any block on to any seq, as the list of all its blocks says.
TEST_P(StoreCompaction, LetsACursorSeekInWhatItBeganToReadAndSoDoesADrop) {
    define();
    for (std::uint64_t seq = 2; seq <= 80; seq += 1 + seq % 3) {
        put_small(seq, seq);
    }
    advance(20);
    compact();
    const Seqs all = block_seqs();
    ASSERT_GT(all.size(), 8U);
    struct Seeking {
        BlockCursor cursor;
        Seqs found;
        Seqs expected;
    };
    std::vector<Seeking> cursors;
    // On RADOS a partition is read when its cursor comes to it.
    for (std::size_t begun = GetParam() == TestEngine::kRados ? 1 : 0; begun <= all.size(); ++begun) {
        for (std::uint64_t first = 0; first <= 82; ++first) {
            Seeking& one = cursors.emplace_back(
                Seeking{store_->blocks(partition_in(kBucket), kTarget, kSession, kSamples), {}, {}});
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (i < begun || all[i] >= first) {
                    one.expected.push_back(all[i]);
                }
                if (i < begun) {
                    one.found.push_back(one.cursor.next()->key.first_seq.value);
                }
            }
            one.cursor.seek(Seq{first});
        }
    }
    advance(80);
    compact(UtcNs{kLater.value + 10 * kBucketDurationS * kNsPerSecond});
    EXPECT_LT(block_seqs().size(), all.size());
    ASSERT_TRUE(store_->drop(partition_in(kBucket)).ok());
    ASSERT_TRUE(store_->refresh().ok());
    for (Seeking& one : cursors) {
        for (auto at = one.cursor.next(); at.ok() && at->step == CursorStep::kItem; at = one.cursor.next()) {
            EXPECT_TRUE(parse_block_untrusted(at->value).ok());
            one.found.push_back(at->key.first_seq.value);
        }
        EXPECT_EQ(one.found, one.expected);
    }
}

// A reader and the writer go on while a third thread compacts; each visit sees every row once.
TEST_P(StoreCompaction, HappensBesideTheWriterAndReaders) {
    define();
    constexpr std::uint64_t kBatches = 400;
    std::atomic<bool> is_done{false};
    std::atomic<std::int64_t> now_ns{kLater.value};
    std::thread reader{[&] {
        std::size_t seen = 0;
        while (!is_done) {
            const std::size_t row_count = rows_of(*store_, kSamples).size();
            EXPECT_GE(row_count, seen);
            EXPECT_EQ(row_count % 2, 0U);
            seen = row_count;
            const auto records = records_of(*store_);
            EXPECT_GE(2 * records.size(), row_count);
            for (std::size_t i = 0; i < records.size(); ++i) {
                EXPECT_EQ(records[i].seq, Seq{i + 1});
            }
        }
    }};
    std::thread compactor{[&] {
        while (!is_done) {
            EXPECT_TRUE(store_
                            ->compact(UtcNs{now_ns += 10 * kBucketDurationS * kNsPerSecond},
                                      [](const CompactionStep&) { return Visit::kContinue; })
                            .ok());
        }
    }};
    for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
        put_small(seq, seq);
        advance(seq);
        if (seq % 50 == 0) {
            EXPECT_EQ(put({sample_batch(Seq{seq / 2}, {10 * (seq / 2), 10 * (seq / 2) + 1})}),
                      Outcomes{PutOutcome::kDuplicate});
        }
    }
    is_done = true;
    reader.join();
    compactor.join();
    compact(UtcNs{now_ns + 10 * kBucketDurationS * kNsPerSecond});
    EXPECT_EQ(rows_of(*store_, kSamples).size(), 2 * kBatches);
    EXPECT_EQ(seqs().size(), kBatches);
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreCompaction, testing::ValuesIn(test_engines()),
                         [](const auto& engine) { return std::string{engine_name(engine.param)}; });

}  // namespace
}  // namespace perfleet::conformance::conformance_compaction_test
