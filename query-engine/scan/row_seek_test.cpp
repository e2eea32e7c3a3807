// Ranges of time and what summaries leave, read from blocks that begin anywhere: every row of them, and little else.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "storage/limits/store_limits.h"
#include "storage/read/testing/forwarding_reader.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::row_seek_test {
namespace {

constexpr TargetId kTarget{5};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{472'222};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kOthers{Kind::kSample, EventNumber{1}};
constexpr std::uint64_t kTicksABatch = 1'000'000;

// How many blocks are pulled.
class CountedBlocks final : public ForwardingReader {
public:
    explicit CountedBlocks(const StoreReader& store) : ForwardingReader{store} {}

    BlockCursor blocks(const Partition& partition, TargetId target, SessionId session, Series series) const override {
        return BlockCursor{
            [this, cursor = ForwardingReader::blocks(partition, target, session, series)](Seq first) mutable {
                cursor.seek(first);
                auto step = cursor.next();
                count += step.ok() && step->step == CursorStep::kItem ? 1 : 0;
                return step;
            }};
    }

    mutable std::atomic<std::size_t> count{0};
};

class RowSeek : public testing::TestWithParam<std::uint64_t> {
protected:
    struct Row {
        std::uint64_t seq;
        std::uint64_t time;
        std::uint64_t thread;

        friend auto operator<=>(const Row&, const Row&) = default;
    };

    void SetUp() override { ASSERT_TRUE(store_->define(partition_, sample_session(kTarget, kSession)).ok()); }

    std::uint64_t below(std::uint64_t bound) {
        return std::uniform_int_distribution<std::uint64_t>{0, bound - 1}(random_);
    }

    // A batch of the next seq, half of the time with rows of another series before them; times lie up to two batches
    // beside each other.
    void put(EpochNumber epoch) {
        const std::uint64_t seq = ++last_seq_;
        SampleBatch batch{kTarget, kSession, Seq{seq}, epoch, kBucket};
        if (below(2) == 0) {
            batch.add(kOthers, {{ColumnId::kTime, std::vector<std::uint64_t>(3, seq * kTicksABatch)}});
        }
        if (below(8) != 0) {
            const std::uint64_t most = below(12) == 0 ? limits::kBlockRowsMax : 500;
            std::vector<std::uint64_t> times;
            for (std::uint64_t i = 1 + below(most); i > 0; --i) {
                times.push_back(seq * kTicksABatch + below(2 * kTicksABatch));
            }
            std::sort(times.begin(), times.end());
            std::vector<std::uint64_t> threads;
            for (const std::uint64_t time : times) {
                threads.push_back(below(1'000));
                rows_.push_back({seq, time, threads.back()});
            }
            batch.add(kSamples, {{ColumnId::kTime, times}, {ColumnId::kTid, threads}});
        }
        ASSERT_TRUE(store_->put(partition_, std::vector{batch.build()}).ok());
    }

    void compact() {
        ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{last_seq_}).ok());
        ASSERT_TRUE(
            store_->compact(UtcNs{now_s_ * kNsPerSecond}, [](const CompactionStep&) { return Visit::kContinue; }).ok());
        now_s_ += 10 * kBucketDurationS;
    }

    static Selection selection_of(std::uint64_t first_ticks, std::uint64_t last_ticks) {
        const ClockPoint start = sample_session(kTarget, kSession).start_point;
        const auto utc = [&](std::uint64_t ticks) {
            return UtcNs{start.utc_ns.value + static_cast<std::int64_t>(ticks - start.ticks.value)};
        };
        Selection selection;
        selection.from = utc(first_ticks);
        selection.to = utc(last_ticks);
        return selection;
    }

    // Rows between these ticks, in the order in which they were put.
    [[nodiscard]] std::vector<Row> expected(TickRange range) const {
        std::vector<Row> rows;
        std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(rows),
                     [&](const Row& row) { return Ticks{row.time} >= range.first && Ticks{row.time} < range.second; });
        return rows;
    }

    static void add_rows(const RowBlock& block, std::vector<Row>& rows) {
        const auto times = block.rows.integers(ColumnId::kTime);
        const auto threads = block.rows.integers(ColumnId::kTid);
        for (std::size_t i = 0; i < times.size(); ++i) {
            rows.push_back({0, times[i], threads[i]});
        }
    }
    static std::vector<Row> without_seqs(std::vector<Row> rows) {
        for (Row& row : rows) {
            row.seq = 0;
        }
        return rows;
    }

    static std::vector<Row> rows_of(const Scan& scan) {
        std::vector<Row> rows;
        RowCursor cursor{scan, 0, kSamples, std::array{ColumnId::kTime, ColumnId::kTid}};
        while (const RowBlock* const block = cursor.next()) {
            add_rows(*block, rows);
        }
        EXPECT_TRUE(cursor.status().ok());
        return rows;
    }

    static void expect_nothing_missing(const Scan& scan) {
        std::vector<std::string> warnings;
        EXPECT_TRUE(scan.ledger(0, kSamples, warnings).lost.empty());
        EXPECT_TRUE(warnings.empty() || warnings.front().find("not readable") == std::string::npos) << warnings.front();
    }

    std::mt19937_64 random_{GetParam()};
    const Partition partition_ = partition_of(kTarget, kBucket);
    std::unique_ptr<Store> store_ = make_memory_store();
    std::vector<Row> rows_;
    std::uint64_t last_seq_ = 0;
    std::int64_t now_s_ = 4'000'000'000;
};

// While its blocks are compacted, and the series grows.
TEST_P(RowSeek, GivesEveryRowOfARangeInOrder) {
    for (int i = 0; i < 60; ++i) {
        put(EpochNumber{0});
    }
    for (int i = 0; i < 20; ++i) {
        put(EpochNumber{1});
    }
    if (GetParam() % 2 == 0) {
        compact();
    }
    const std::uint64_t end = (last_seq_ + 3) * kTicksABatch;
    std::vector<std::pair<Scan, std::vector<Row>>> scans;
    for (int i = 0; i < 16; ++i) {
        const std::uint64_t first = below(end);
        auto scan = Scan::open(*store_, selection_of(first, first + 1 + below(i % 2 == 0 ? end : 3 * kTicksABatch)));
        ASSERT_TRUE(scan.ok());
        std::vector<Row> rows = without_seqs(expected(scan->tick_range(0)));
        scans.emplace_back(std::move(*scan), std::move(rows));
    }
    for (int pass = 0; pass < 3; ++pass) {
        for (const auto& [scan, rows] : scans) {
            EXPECT_EQ(rows_of(scan), rows);
            expect_nothing_missing(scan);
        }
        for (int i = 0; i < 5; ++i) {
            put(EpochNumber{1});
        }
        compact();
    }
}

TEST_P(RowSeek, GivesOnAnyThreadWhatSummariesLeave) {
    for (int i = 0; i < 80; ++i) {
        put(EpochNumber{0});
    }
    if (GetParam() % 2 == 0) {
        compact();
    }
    const Scan scan = std::move(*Scan::open(*store_, {}));
    for (int i = 0; i < 8; ++i) {
        CoveredSeqs covered;
        std::vector<SeqRange> covers;
        for (std::uint64_t seq = 1 + below(20); seq <= last_seq_; seq += 1 + below(20)) {
            const std::uint64_t last = seq + below(20);
            covered.add(std::array{SeqRange{Seq{seq}, Seq{last}}});
            covers.push_back({Seq{seq}, Seq{last}});
            seq = last;
        }
        std::vector<Row> rows;
        for (const Row& row : rows_) {
            if (std::none_of(covers.begin(), covers.end(), [&](const SeqRange& cover) {
                    return cover.first.value <= row.seq && row.seq <= cover.last.value;
                })) {
                rows.push_back({0, row.time, row.thread});
            }
        }
        std::vector<std::vector<Row>> found(2);
        ASSERT_TRUE(
            scan.visit_rows_in_parallel(0, EpochNumber{0}, kSamples, covered, 2,
                                        [&](unsigned worker, RowBlock& block) {
                                            ASSERT_TRUE(block.decode_more(std::array{ColumnId::kTime, ColumnId::kTid}));
                                            add_rows(block, found[worker]);
                                        })
                .ok());
        found[0].insert(found[0].end(), found[1].begin(), found[1].end());
        std::sort(found[0].begin(), found[0].end());
        std::sort(rows.begin(), rows.end());
        EXPECT_EQ(found[0], rows);
        expect_nothing_missing(scan);
    }
}

// A block's end is known from it and the next one; before it are those that might hold its first batch.
TEST_P(RowSeek, ReadsFewBlocksBesideThoseOfTheRange) {
    for (int i = 0; i < 300; ++i) {
        put(EpochNumber{0});
    }
    compact();
    const CountedBlocks counted{*store_};
    EXPECT_EQ(rows_of(*Scan::open(counted, {})).size(), rows_.size());
    const std::size_t all = counted.count.exchange(0);
    ASSERT_GT(all, 12U);
    for (const std::uint64_t at : {20U, 150U, 295U}) {
        const Scan scan = std::move(*Scan::open(counted, selection_of(at * kTicksABatch, (at + 2) * kTicksABatch)));
        const std::vector<Row> rows = rows_of(scan);
        EXPECT_EQ(rows, without_seqs(expected(scan.tick_range(0))));
        EXPECT_LE(counted.count.exchange(0), 6U);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowSeek, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace perfleet::row_seek_test
