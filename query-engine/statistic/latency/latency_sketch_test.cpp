// Results of sketches are as near to the values as promised.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "query-engine/statistic/latency/latency.h"
#include "query-engine/statistic/latency/latency_sketch.h"
#include "storage/compact/compaction_step.h"
#include "storage/compact/policy.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::latency_sketch_test {
namespace {

constexpr TargetId kTarget{7};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{472'223};
constexpr std::int64_t kMinuteNs = 60 * kNsPerSecond;
constexpr std::int64_t kHourStartNs = std::int64_t{kBucket.value} * 60 * kMinuteNs;
constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};
constexpr Series kOthers{Kind::kTracepoint, EventNumber{2}};  // without values

struct Row {
    std::int64_t utc_ns = 0;
    std::uint64_t value = 0;
};

// An hour of values, a batch a half minute; the last tenth comes after the others were compacted, some of it again.
class Sketches : public testing::Test {
protected:
    void SetUp() override {
        store_ = make_memory_store();
        const Partition partition = partition_of(kTarget, kBucket);
        ASSERT_TRUE(store_->define(partition, sample_session(kTarget, kSession)).ok());
        std::mt19937_64 random{11};
        std::lognormal_distribution<double> spread{9, 1.5};
        for (std::uint64_t seq = 1; seq <= 120; ++seq) {
            SampleIntegers rows;
            for (int i = 0; i < 400; ++i) {
                const Row row{kHourStartNs + static_cast<std::int64_t>(seq - 1) * kMinuteNs / 2 +
                                  static_cast<std::int64_t>(random() % (kMinuteNs / 2)),
                              static_cast<std::uint64_t>(spread(random))};
                rows_.push_back(row);
                rows[ColumnId::kTime].push_back(static_cast<std::uint64_t>(row.utc_ns - 1'700'000'000'000'000'000));
                rows[ColumnId::kValue].push_back(row.value);
                for (const ColumnId column : {ColumnId::kPid, ColumnId::kTid, ColumnId::kStack, ColumnId::kWeight}) {
                    rows[column].push_back(0);
                }
            }
            SampleBatch batch{kTarget, kSession, Seq{seq}, EpochNumber{0}, kBucket};
            batch.add(kPoints, rows);
            rows[ColumnId::kValue].assign(400, 0);
            batch.add(kOthers, rows);
            batch.entry(kPoints, CountName::kProduced, 400 * seq).entry(kOthers, CountName::kProduced, 400 * seq);
            const auto built = batch.build();
            ASSERT_TRUE(store_->put(partition, std::span{&built, 1}).ok());
            ASSERT_TRUE(store_->put(partition, std::span{&built, 1}).ok());
            if (seq == 108) {
                ASSERT_TRUE(store_->advance_watermark(kTarget, kSession, Seq{seq}).ok());
                ASSERT_TRUE(store_
                                ->compact(UtcNs{kHourStartNs + 600 * kMinuteNs},
                                          [](const CompactionStep&) { return Visit::kContinue; })
                                .ok());
            }
        }
    }

    [[nodiscard]] Answer answer(std::optional<std::int64_t> from_ns, std::optional<std::int64_t> to_ns,
                                LatencyView view) const {
        Selection selection;
        selection.thread_count = 2;
        selection.from = from_ns ? std::optional{UtcNs{*from_ns}} : std::nullopt;
        selection.to = to_ns ? std::optional{UtcNs{*to_ns}} : std::nullopt;
        const auto scan = Scan::open(*store_, selection);
        EXPECT_TRUE(scan.ok());
        LatencyOptions options;
        options.view = view;
        auto made = make_latency(*scan, options);
        EXPECT_TRUE(made.ok()) << made.error().message;
        return std::move(*made);
    }

    static AnswerValue figure(const Answer& answer, const std::string& name) {
        for (std::size_t i = 0; i < answer.columns.size(); ++i) {
            if (answer.columns[i].name == name && answer.rows.size() == 1) {
                return answer.rows[0][i];
            }
        }
        ADD_FAILURE() << name;
        return {};
    }

    std::unique_ptr<Store> store_;
    std::vector<Row> rows_;
};

TEST_F(Sketches, AreExactInMomentsAndNearInPercentiles) {
    const std::int64_t from = kHourStartNs + kMinuteNs / 3;
    const std::int64_t to = kHourStartNs + 55 * kMinuteNs;
    const Answer quick = answer(from, to, LatencyView::kSketch);
    const Answer exact = answer(from, to, LatencyView::kSummary);
    for (const char* name : {"session", "event", "count", "min", "max", "mean", "sd", "cv"}) {
        EXPECT_EQ(figure(quick, name), figure(exact, name)) << name;
    }
    // Its interval knows neither order nor skewness of the values (docs/statistics.md).
    EXPECT_LT(std::get<double>(figure(quick, "mean_low")), std::get<double>(figure(quick, "mean")));
    EXPECT_GT(std::get<double>(figure(quick, "mean_high")), std::get<double>(figure(quick, "mean")));
    EXPECT_EQ(quick.ledger, exact.ledger);
    std::vector<std::uint64_t> values;
    for (const Row& row : rows_) {
        if (row.utc_ns >= from && row.utc_ns < to) {
            values.push_back(row.value);
        }
    }
    std::sort(values.begin(), values.end());
    for (const auto& [name, percent] : {std::pair{"median", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}}) {
        const auto truth = static_cast<double>(
            values[nearest_rank(Quantile::of_percent(static_cast<unsigned>(percent)), values.size())]);
        const auto given = static_cast<double>(std::get<std::uint64_t>(figure(quick, name)));
        EXPECT_LE(std::abs(given - truth), truth * static_cast<double>(RankSketch::kErrorMax)) << name;
    }
    EXPECT_TRUE(std::any_of(quick.warnings.begin(), quick.warnings.end(), [](const std::string& warning) {
        return warning.find("off by at most 0.39 %") != std::string::npos;
    }));
}

TEST_F(Sketches, LeaveOutEventsWithoutValues) {
    const Answer all = answer({}, {}, LatencyView::kSketch);
    EXPECT_EQ(all.rows.size(), 1U);
    EXPECT_EQ(all.ledger.stored, rows_.size());
}

}  // namespace
}  // namespace perfleet::latency_sketch_test
