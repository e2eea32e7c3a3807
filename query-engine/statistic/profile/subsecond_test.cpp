#include "query-engine/statistic/profile/subsecond.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "storage/store/memory_store.h"

namespace perfleet::subsecond_test {
namespace {

class Subsecond : public ::testing::Test {
protected:
    void SetUp() override { deliver(scenario_, {}, *store_); }

    Answer subsecond(const SubsecondOptions& options) {
        const Result<Scan> scan = Scan::open(*store_, selection_);
        EXPECT_TRUE(scan.ok());
        Result<Answer> answer = make_subsecond(*scan, symbolizer_, options);
        EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
        return answer.ok() ? std::move(*answer) : Answer{};
    }
    // Amounts and rows by column and cell, counted one by one.
    std::map<std::tuple<std::int64_t, std::int64_t>, std::uint64_t> naive_rows(const SubsecondOptions& options,
                                                                               std::int64_t start_ns,
                                                                               std::int64_t column_ns) {
        const Result<Scan> scan = Scan::open(*store_, selection_);
        std::map<std::tuple<std::int64_t, std::int64_t>, std::uint64_t> rows;
        for (const ScannedSession& session : scan->sessions()) {
            for (const ScenarioSession& made : scenario_.sessions) {
                if (made.record.session != session.record.session) {
                    continue;
                }
                for (const ScenarioEpoch& epoch : made.epochs) {
                    for (const ScenarioSample& sample : epoch.samples) {
                        const std::int64_t time = session.clock.utc_of(Ticks{sample.ticks}).value;
                        const bool is_selected = (!selection_.from || time >= selection_.from->value) &&
                                                 (!selection_.to || time < selection_.to->value);
                        if (sample.event == 0 && is_selected) {
                            const auto cell_ns = static_cast<std::int64_t>(options.cell_ms) * 1'000'000;
                            ++rows[{(time - start_ns) / column_ns * column_ns,
                                    (time - start_ns) % 1'000'000'000 / cell_ns * cell_ns}];
                        }
                    }
                }
            }
        }
        return rows;
    }
    static std::int64_t whole(const AnswerValue& value) {
        return static_cast<std::int64_t>(std::get<std::uint64_t>(value));
    }
    void expect_naive(const SubsecondOptions& options) {
        const Answer answer = subsecond(options);
        ASSERT_FALSE(answer.rows.empty());
        const std::int64_t start_ns =
            parse_time(std::get<std::string>(answer.rows[0][0]), {})->value - whole(answer.rows[0][1]);
        const std::int64_t column_ns = whole(answer.rows[0][2]) - whole(answer.rows[0][1]);
        EXPECT_EQ(start_ns % 1'000'000'000, 0);
        EXPECT_EQ(column_ns % 1'000'000'000, 0);
        std::map<std::tuple<std::int64_t, std::int64_t>, std::uint64_t> rows;
        for (const auto& row : answer.rows) {
            rows[{whole(row[1]), whole(row[3])}] = std::get<std::uint64_t>(row[6]);
        }
        EXPECT_EQ(rows.size(), answer.rows.size()) << "each cell once";
        EXPECT_EQ(rows, naive_rows(options, start_ns, column_ns));
    }

    ProfileScenario scenario_ = make_scenario(8);
    std::unique_ptr<Store> store_ = make_memory_store();
    Selection selection_;
    Symbolizer symbolizer_{nullptr, {}};
};

TEST_F(Subsecond, CellsAreANaiveCount) {
    expect_naive({.cell_ms = 20, .column_count = 300});
    expect_naive({.cell_ms = 125, .column_count = 7});
    expect_naive({.cell_ms = 1, .column_count = 1});
}

TEST_F(Subsecond, ARangeCutsColumnsAndRows) {
    const Answer all = subsecond({.cell_ms = 500, .column_count = 3'600});
    const auto time_of = [&](std::size_t row) { return *parse_time(std::get<std::string>(all.rows[row][0]), {}); };
    selection_.from = UtcNs{time_of(all.rows.size() / 2).value + 17'000'000};
    expect_naive({.cell_ms = 20, .column_count = 300});
    selection_.to = UtcNs{time_of(all.rows.size() * 3 / 4).value + 400'000'000};
    expect_naive({.cell_ms = 20, .column_count = 300});
}

TEST_F(Subsecond, CellsAddUpToTop) {
    const Answer answer = subsecond({});
    const Result<Scan> scan = Scan::open(*store_, selection_);
    const Result<Answer> top = make_top(*scan, symbolizer_, {});
    ASSERT_TRUE(top.ok());
    std::int64_t amount = 0;
    std::uint64_t samples = 0;
    for (const auto& row : answer.rows) {
        amount += whole(row[5]);
        samples += std::get<std::uint64_t>(row[6]);
    }
    ASSERT_TRUE(answer.measure && top->measure);
    EXPECT_EQ(*answer.measure, *top->measure);
    EXPECT_EQ(amount, answer.measure->total);
    EXPECT_EQ(samples, answer.measure->samples);
}

TEST_F(Subsecond, ACellDividesASecond) {
    EXPECT_TRUE(subsecond_options().check({{"cell", std::uint64_t{40}}}).ok());
    const Result<Done> checked = subsecond_options().check({{"cell", std::uint64_t{30}}});
    ASSERT_FALSE(checked.ok());
    EXPECT_NE(checked.error().message.find("--cell"), std::string::npos) << checked.error().message;
}

TEST_F(Subsecond, AnEmptyRangeSaysSo) {
    selection_.from = UtcNs{1};
    selection_.to = UtcNs{2};
    const Answer answer = subsecond({});
    EXPECT_TRUE(answer.rows.empty());
    EXPECT_FALSE(answer.warnings.empty());
}

}  // namespace
}  // namespace perfleet::subsecond_test
