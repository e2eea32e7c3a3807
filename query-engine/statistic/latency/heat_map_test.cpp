// Cells of a heat map hold the values that a count by hand puts there.
#include "query-engine/statistic/latency/heat_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "query-engine/statistic/latency/latency.h"
#include "schemas/vocabulary/row_clock.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::heat_map_test {
namespace {

constexpr TargetId kTarget{7};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{472'223};
constexpr std::int64_t kStartNs = std::int64_t{kBucket.value} * 3'600 * kNsPerSecond;
constexpr std::int64_t kClockStartNs = 1'700'000'000'000'000'000;  // of sample_session
constexpr Series kPoints{Kind::kTracepoint, EventNumber{1}};

using Values = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // ns from the start, value

class HeatMaps : public testing::Test {
protected:
    void store(const Values& values, bool has_times = true) {
        const Partition partition = partition_of(kTarget, kBucket);
        SessionRecord session = sample_session(kTarget, kSession);
        if (!has_times) {
            session.clock_name = kRowClock;
        }
        ASSERT_TRUE(store_->define(partition, session).ok());
        SampleIntegers rows;
        for (const auto& [time, value] : values) {
            rows[ColumnId::kTime].push_back(static_cast<std::uint64_t>(kStartNs - kClockStartNs) + time);
            rows[ColumnId::kValue].push_back(value);
            for (const ColumnId column : {ColumnId::kPid, ColumnId::kTid, ColumnId::kStack, ColumnId::kWeight}) {
                rows[column].push_back(0);
            }
        }
        SampleBatch batch{kTarget, kSession, Seq{1}, EpochNumber{0}, kBucket};
        batch.add(kPoints, rows).entry(kPoints, CountName::kProduced, values.size());
        const auto built = batch.build();
        ASSERT_TRUE(store_->put(partition, std::span{&built, 1}).ok());
    }

    [[nodiscard]] Result<Answer> answer(std::uint64_t step = 0) const {
        const auto scan = Scan::open(*store_, Selection{});
        EXPECT_TRUE(scan.ok());
        LatencyOptions options;
        options.view = LatencyView::kHeatMap;
        options.bucket_width = step;
        return make_latency(*scan, options);
    }

    static std::uint64_t whole(const AnswerValue& value) { return std::get<std::uint64_t>(value); }

    std::unique_ptr<Store> store_ = make_memory_store();
};

Values random_values(std::size_t count) {
    std::mt19937_64 random{3};
    std::lognormal_distribution<double> spread{9, 0.8};
    Values values;
    for (std::size_t i = 0; i < count; ++i) {
        values.emplace_back(i * 1'000'003 + random() % 900'000, 500 + static_cast<std::uint64_t>(spread(random)));
    }
    return values;
}

TEST_F(HeatMaps, CellsHoldWhatLiesInThem) {
    const Values values = random_values(3'000);
    store(values);
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{900}}) {
        const auto map = answer(step);
        ASSERT_TRUE(map.ok()) << map.error().message;
        ASSERT_GT(map->rows.size(), kHeatMapSlices);
        std::uint64_t sum = 0;
        std::uint64_t beyond = 0;
        for (const auto& row : map->rows) {
            const auto inside = [&](const auto& value) {
                const std::uint64_t time = value.first - values.front().first;
                return time >= whole(row[1]) && time < whole(row[2]) && value.second >= whole(row[3]) &&
                       value.second <= whole(row[4]);
            };
            EXPECT_EQ(whole(row[5]), static_cast<std::uint64_t>(std::count_if(values.begin(), values.end(), inside)));
            sum += whole(row[5]);
            beyond += whole(row[4]) - whole(row[3]) + 1 == whole(map->rows[0][4]) - whole(map->rows[0][3]) + 1
                          ? 0
                          : whole(row[5]);
        }
        EXPECT_EQ(sum, values.size());
        EXPECT_LE(beyond, values.size() / 100);
        EXPECT_GT(beyond, 0U);
        EXPECT_EQ(map->ledger.stored, values.size());
    }
}

TEST_F(HeatMaps, ValuesThatSpanDecadesGetStepsThatGrow) {
    EXPECT_EQ(quarter_begin(quarter_of(~0ULL) + 1) - 1, ~0ULL);
    for (const std::uint64_t value : {0ULL, 3ULL, 4ULL, 9ULL, 10ULL, 1'000'003ULL, 1ULL << 63U, ~0ULL}) {
        EXPECT_LE(quarter_begin(quarter_of(value)), value);
        EXPECT_GE(quarter_begin(quarter_of(value) + 1) - 1, value);
    }
    Values values;
    for (std::uint64_t i = 0; i < 2'000; ++i) {
        values.emplace_back(i * 1'000, (i % 1'000 == 999 ? ~0ULL : 7 * (i * i + 1)));
    }
    store(values);
    const auto map = answer();
    ASSERT_TRUE(map.ok()) << map.error().message;
    std::uint64_t sum = 0;
    for (const auto& row : map->rows) {
        const std::uint64_t from = whole(row[3]);
        EXPECT_EQ(whole(row[4]), quarter_begin(quarter_of(from) + 1) - 1);
        sum += static_cast<std::uint64_t>(std::count_if(values.begin(), values.end(), [&](const auto& value) {
            return value.first >= whole(row[1]) && value.first < whole(row[2]) && value.second >= from &&
                   value.second <= whole(row[4]);
        }));
    }
    EXPECT_EQ(sum, values.size());
    ASSERT_TRUE(answer(1'000'000).ok());  // equal steps where they are asked for
    EXPECT_EQ(whole(answer(1'000'000)->rows[0][4]) - whole(answer(1'000'000)->rows[0][3]), 999'999U);
}

TEST_F(HeatMaps, OneValueIsOneCell) {
    store({{5, 42}});
    const auto map = answer();
    ASSERT_TRUE(map.ok());
    ASSERT_EQ(map->rows.size(), 1U);
    EXPECT_EQ(whole(map->rows[0][3]), 42U);
    EXPECT_EQ(whole(map->rows[0][5]), 1U);
    EXPECT_TRUE(std::get<std::string>(map->rows[0][0]).starts_with("2023-11-14T"));
}

TEST_F(HeatMaps, ValuesWithoutTimesAreNumbered) {
    Values values = random_values(250);
    for (auto& [time, value] : values) {
        time = 0;
    }
    store(values, false);
    const auto map = answer();
    ASSERT_TRUE(map.ok());
    EXPECT_EQ(map->columns[1].unit, "");
    EXPECT_EQ(whole(map->rows.back()[2]), 250U);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(map->rows[0][0]));
    std::map<std::uint64_t, std::uint64_t> by_part;
    for (const auto& row : map->rows) {
        by_part[whole(row[1])] += whole(row[5]);
    }
    EXPECT_EQ(by_part.size(), kHeatMapSlices);
    for (const auto& [begin, count] : by_part) {
        EXPECT_TRUE(count == 2 || count == 3) << begin;
    }
}

TEST_F(HeatMaps, OfTooManyStepsIsRefused) {
    store({{0, 1}, {1, 100'000}, {2, 100'000}});
    const auto map = answer(1);
    ASSERT_FALSE(map.ok());
    EXPECT_EQ(map.error().code, ErrorCode::kUsage);
    EXPECT_NE(map.error().message.find("--bucket: 1 makes 99999 steps"), std::string::npos) << map.error().message;
}

TEST_F(HeatMaps, OfNothingHasNoRows) {
    const auto map = answer();
    ASSERT_TRUE(map.ok());
    EXPECT_TRUE(map->rows.empty());
    EXPECT_EQ(map->columns.size(), 6U);
}

}  // namespace
}  // namespace perfleet::heat_map_test
