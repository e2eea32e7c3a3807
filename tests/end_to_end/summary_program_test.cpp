// Gateways that are killed while they make summaries: afterwards every row is counted once, from summaries as from
// blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "daemon/metrics/testing/scrape.h"
#include "gateway/admission/testing/sample_messages.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/visit_blocks.h"
#include "storage/summary/day_summary.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::summary_program_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr std::uint32_t kFirstBucket = 472'223;  // long over
constexpr std::uint32_t kHours = 48;
static_assert(kFirstBucket % 24 == 23);
constexpr std::uint32_t kLastHours[] = {24, kHours - 1};  // of the days after the first hour
constexpr std::uint64_t kBatchesAnHour = 2;
constexpr std::uint64_t kBatches = kHours * kBatchesAnHour;
constexpr std::uint64_t kRowsABatch = 9'000;  // none is joined
constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};

// Batches after the first come late, each for some old hour.
std::uint32_t hour_of(std::uint64_t seq) {
    return static_cast<std::uint32_t>(seq <= kBatches ? (seq - 1) / kBatchesAnHour : (seq - kBatches) * 5 % kHours);
}

AdmittedBatch batch_of(std::uint64_t seq) {
    const std::uint32_t hour = hour_of(seq);
    const BucketNumber bucket{kFirstBucket + hour};
    const std::uint64_t start =
        std::uint64_t{bucket.value} * kBucketDurationS * kNsPerSecond - 1'700'000'000'000'000'000;
    SampleIntegers rows;
    for (std::uint64_t row = 0; row < kRowsABatch; ++row) {
        rows[ColumnId::kTime].push_back(start + seq % kBatchesAnHour * 1'000'000'000'000 + row * 100'000'000);
        rows[ColumnId::kPid].push_back(40);
        rows[ColumnId::kTid].push_back(40 + row % 2);
        rows[ColumnId::kStack].push_back((row + seq) % 5);
        rows[ColumnId::kWeight].push_back(1);
    }
    SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{hour}, bucket};
    batch.add(kSamples, rows).entry(kSamples, CountName::kProduced, kRowsABatch * seq);
    for (std::uint64_t row = 0; row < kRowsABatch; ++row) {
        rows[ColumnId::kValue].push_back(1'000 + (row + seq) % 50);
    }
    batch.add(kPoints, rows).entry(kPoints, CountName::kProduced, kRowsABatch * seq);
    return batch.build();
}

void make_store(const std::string& data) {
    auto store = open_store(data);
    ASSERT_TRUE(store.ok()) << store.error().message;
    for (std::uint64_t seq = 1; seq <= kBatches; ++seq) {
        const Partition partition = partition_of(kTarget, BucketNumber{kFirstBucket + hour_of(seq)});
        ASSERT_TRUE((*store)->define(partition, sample_session(kTarget, kSession)).ok());
        ASSERT_TRUE((*store)->put(partition, std::vector{batch_of(seq)}).ok());
    }
    ASSERT_TRUE((*store)->advance_watermark(kTarget, kSession, Seq{kBatches}).ok());
    ASSERT_TRUE((*store)->sync().ok());
}

// Rows that summaries stand for; a failure where two cover one batch.
std::uint64_t covered_rows(const StoreReader& reader, Series series) {
    std::uint64_t row_count = 0;
    std::map<std::uint64_t, int> covered;
    for (const std::uint32_t hour : kLastHours) {
        const auto visited =
            visit_summaries(reader, partition_of(kTarget, BucketNumber{kFirstBucket + hour}), kTarget, kSession, series,
                            [&](const SummaryKey&, std::string_view bytes) {
                                const auto summary = decode_summary_untrusted(bytes);
                                EXPECT_TRUE(summary.ok());
                                for (const DayHour& one : summary->hours) {
                                    row_count += one.rows.row_count;
                                    for (const SeqRange& range : one.rows.seqs) {
                                        for (std::uint64_t seq = range.first.value; seq <= range.last.value; ++seq) {
                                            const bool is_meant = hour_of(seq) == one.rows.epoch.value;
                                            EXPECT_LE(covered[seq] += is_meant ? 1 : 0, 1) << seq;
                                        }
                                    }
                                }
                                return Visit::kContinue;
                            });
        EXPECT_TRUE(visited.ok());
    }
    return row_count;
}

// Whether summaries represent every row of the two days that was there before the late ones, as a reader sees it.
bool is_covered(const std::string& data) {
    const auto reader = open_store_reader(data);
    if (!reader.ok()) {
        ADD_FAILURE() << reader.error().message;
        return true;
    }
    const auto holds = [&](Series series) {
        return covered_rows(**reader, series) >= (kBatches - kBatchesAnHour) * kRowsABatch;
    };
    return holds(kSamples) && holds(kPoints);
}

class GatewayWithMetrics : public GatewayProgram {
public:
    explicit GatewayWithMetrics(const std::string& data)
        : GatewayProgram{data, "tcp://127.0.0.1:*",         "none", program_path("perfleet-gateway"),
                         {},   {"--metrics", "127.0.0.1:*"}} {}

    // Until so much was compacted, or a summary was made, or nothing is left to do.
    void wait_for_work(double block_count) {
        for (int i = 0; i < 300; ++i) {
            const ScrapedPage page = scrape(metrics());
            if (page.value("perfleet_gateway_compaction_blocks_out_total").value_or(0) >= block_count ||
                page.value("perfleet_gateway_summaries_total").value_or(0) >= 1) {
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
};

TEST(SummaryProgram, KilledWhileItMakesThemLeavesEachRowCountedOnce) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    make_store(data);
    constexpr std::uint64_t kKills = 6;
    for (std::uint64_t kill = 0; kill < kKills; ++kill) {
        GatewayWithMetrics gateway{data};
        SamplePeer peer{gateway.listen()};
        peer.greet(sample_session(kTarget, kSession));
        // One that comes late, and the one before again.
        const std::uint64_t late = kBatches + 1 + kill;
        if (kill != 0) {
            peer.send(sample::batch(batch_of(late - 1)));
        }
        peer.send(sample::batch(batch_of(late)));
        peer.wait_for_prefix(late);
        gateway.wait_for_work(1 + 4 * static_cast<double>(kill * kill));
        EXPECT_EQ(gateway.end(SIGKILL).signal, SIGKILL);
    }
    {
        GatewayWithMetrics gateway{data};
        // Its own report isn't enough: nothing waits before it has looked, nor if all was done before the last kill.
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!is_covered(data) && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    }
    EXPECT_TRUE(is_covered(data));
    const auto quick = perfleet_json({"top", "--event", "cpu-clock", "--data", data});
    const auto exact = perfleet_json({"top", "--event", "cpu-clock", "--exact", "--data", data});
    EXPECT_EQ(quick["rows"], exact["rows"]);
    EXPECT_EQ(quick["ledger"], exact["ledger"]);
    EXPECT_EQ(exact["ledger"]["stored"], (kBatches + kKills) * kRowsABatch);
    const auto sketched = rows_of(perfleet_json({"latency", "--sketch", "--data", data}));
    ASSERT_EQ(sketched.size(), 1U);
    EXPECT_EQ(sketched[0]["count"], (kBatches + kKills) * kRowsABatch);
    const Finished verified = run({program_path("perfleet"), "inspect", "--verify", "--data", data});
    EXPECT_EQ(verified.ending.status, 0) << verified.output << verified.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end::summary_program_test
