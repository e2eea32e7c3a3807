#include "query-engine/statistic/profile/series.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "query-engine/statistic/profile/top.h"
#include "query-engine/statistic/profile/tree.h"
#include "query-engine/statistic/session/labels.h"
#include "query-engine/statistic/stack/call_path.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "storage/store/memory_store.h"

namespace perfleet::series_test {
namespace {

class Series : public ::testing::Test {
protected:
    void SetUp() override {
        deliver(scenario_, {}, *store_);
        selection_.counts_rows = true;
        scan_.emplace(*Scan::open(*store_, selection_));
    }

    Answer series(const SeriesOptions& options) {
        Result<Answer> answer = make_series(*scan_, symbolizer_, options);
        EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
        return answer.ok() ? std::move(*answer) : Answer{};
    }
    // Sums of a column by the values of others.
    static std::map<std::vector<std::string>, std::uint64_t> sums(const Answer& answer, std::size_t first_key) {
        std::map<std::vector<std::string>, std::uint64_t> sums;
        for (const std::vector<AnswerValue>& row : answer.rows) {
            std::vector<std::string> key;
            for (std::size_t i = first_key; i + 2 < row.size(); ++i) {
                key.push_back(std::get<std::string>(row[i]));
            }
            sums[key] += std::get<std::uint64_t>(row[row.size() - 2]);
            EXPECT_EQ(row[row.size() - 2], row.back()) << "amounts are samples here";
        }
        return sums;
    }

    ProfileScenario scenario_ = make_scenario(8);
    std::unique_ptr<Store> store_ = make_memory_store();
    Selection selection_;
    std::optional<Scan> scan_;
    Symbolizer symbolizer_{nullptr, {}};
};

TEST_F(Series, StepsOfTargetsAreANaiveCount) {
    constexpr double kStepS = 600;
    SeriesOptions options;
    options.step_s = kStepS;
    options.by = {"target"};
    const Answer answer = series(options);
    ASSERT_FALSE(answer.rows.empty());
    const UtcNs start = *parse_time(std::get<std::string>(answer.rows.front().front()), {});
    std::map<std::vector<std::string>, std::uint64_t> naive;
    for (const ScannedSession& session : scan_->sessions()) {
        for (const ScenarioSession& made : scenario_.sessions) {
            if (made.record.session != session.record.session) {
                continue;
            }
            for (const ScenarioEpoch& epoch : made.epochs) {
                for (const ScenarioSample& sample : epoch.samples) {
                    if (sample.event == 0) {
                        constexpr auto kStepNs = static_cast<std::int64_t>(kStepS) * 1'000'000'000;
                        const std::int64_t after = session.clock.utc_of(Ticks{sample.ticks}).value - start.value;
                        const std::int64_t step = after >= 0 ? after / kStepNs : -((-after + kStepNs - 1) / kStepNs);
                        ++naive[{format_time(UtcNs{start.value + step * kStepNs}), made.record.target_name}];
                    }
                }
            }
        }
    }
    EXPECT_GT(naive.size(), 4U);
    EXPECT_EQ(sums(answer, 0), naive);
}

TEST_F(Series, AsManyStepsAsWantedCoverTheRange) {
    SeriesOptions options;
    options.step_count = 7;
    const Answer answer = series(options);
    ASSERT_FALSE(answer.rows.empty());
    const auto time_of = [](const AnswerValue& value) { return parse_time(std::get<std::string>(value), {})->value; };
    const std::int64_t width = time_of(answer.rows[0][1]) - time_of(answer.rows[0][0]);
    std::uint64_t sum = 0;
    for (const auto& row : answer.rows) {
        const std::int64_t after = time_of(row[0]) - time_of(answer.rows[0][0]);
        EXPECT_EQ(time_of(row[1]) - time_of(row[0]), width);
        EXPECT_EQ(after % width, 0);
        EXPECT_LT(after / width, 7);
        sum += std::get<std::uint64_t>(row.back());
    }
    options.step_count = 0;
    EXPECT_EQ(sum, std::get<std::uint64_t>(series(options).rows[0].back()));
    EXPECT_FALSE(series_options().check({{"step", 2.0}, {"steps", std::uint64_t{3}}}).ok());
}

TEST_F(Series, GroupsAddUpToTopWhateverTheSteps) {
    TopOptions by_command;
    by_command.by_symbol = by_command.by_image = false;
    by_command.self_only = true;
    const Answer top = *make_top(*scan_, symbolizer_, by_command);
    std::map<std::vector<std::string>, std::uint64_t> expected;
    for (const std::vector<AnswerValue>& row : top.rows) {
        expected[{std::get<std::string>(row[2])}] += std::get<std::uint64_t>(row[3]);
    }
    for (const double step_s : {0.0, 60.0, 3'600.0}) {
        SeriesOptions options;
        options.step_s = step_s;
        options.by = {"comm"};
        const Answer answer = series(options);
        EXPECT_EQ(sums(answer, 1), expected) << step_s;
        EXPECT_EQ(answer.measure, top.measure);
        EXPECT_EQ(answer.ledger, top.ledger);
    }
}

TEST_F(Series, RowsBelowACallPathAreThoseOfTree) {
    const Answer tree = *make_tree(*scan_, symbolizer_, {});
    ASSERT_GT(tree.rows.size(), 20U);
    std::map<std::vector<std::string>, std::uint64_t> totals;  // images of one name are one function
    std::vector<std::string> path;
    for (const std::vector<AnswerValue>& row : tree.rows) {
        path.resize(std::get<std::uint64_t>(row[0]));
        path.push_back(std::get<std::string>(row[1]));
        totals[path] += std::get<std::uint64_t>(row[3]);
    }
    for (const auto& [below, total] : totals) {
        const OptionValues values{
            {"below", call_path_text(below)}, {"by", std::string{"target,comm"}}, {"step", 600.0}};
        const Answer answer = series(*series_options().read(values));
        std::uint64_t sum = 0;
        for (const auto& [key, amount] : sums(answer, 1)) {
            EXPECT_EQ(key[1], below.front());
            sum += amount;
        }
        EXPECT_EQ(sum, total) << call_path_text(below);
        EXPECT_EQ(answer.measure->total, static_cast<std::int64_t>(total));
    }
    SeriesOptions options;
    options.below = {"no such command"};
    EXPECT_TRUE(series(options).rows.empty());
}

TEST_F(Series, NamesInACallPathMayHaveItsSeparator) {
    const std::vector<std::string> path{"a;b", "c\\", "", "d\\;"};
    EXPECT_EQ(call_path_text(path), "a\\;b;c\\\\;;d\\\\\\;");
    EXPECT_EQ(series_options().read({{"below", call_path_text(path)}})->below, path);
}

TEST_F(Series, LimitKeepsTheLargestAndSaysSo) {
    SeriesOptions options;
    options.by = {"comm"};
    const Answer all = series(options);
    options.group_count_max = 1;
    const Answer one = series(options);
    ASSERT_EQ(one.rows.size(), 1U);
    EXPECT_EQ(one.rows.front(), all.rows.front());
    EXPECT_NE(one.warnings.front().find("groups are left out (--limit)"), std::string::npos) << one.warnings.front();
}

TEST_F(Series, TooManyStepsAreRefusedByName) {
    SeriesOptions options;
    options.step_s = 0.001;
    const Result<Answer> answer = make_series(*scan_, symbolizer_, options);
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
    EXPECT_EQ(answer.error().message.find("--step: "), 0U) << answer.error().message;
}

TEST_F(Series, ARangeLongerThanAnyNumberOfNsHasItsRows) {
    const Answer all = series({});
    selection_.from = *parse_time("1678-01-01T00:00:00Z", {});
    scan_.emplace(*Scan::open(*store_, selection_));
    for (const double step_s : {0.0, 366.0 * 86'400}) {
        SeriesOptions options;
        options.step_s = step_s;
        const Answer answer = series(options);
        ASSERT_EQ(answer.rows.size(), 1U) << step_s;
        EXPECT_EQ(answer.rows.front().back(), all.rows.front().back()) << step_s;
    }
    SeriesOptions options;
    options.step_s = 86'400;
    EXPECT_EQ(make_series(*scan_, symbolizer_, options).error().code, ErrorCode::kUsage) << "days since 1678";
}

TEST_F(Series, LabelsAreThoseOfSessions) {
    std::map<std::tuple<std::string, std::string>, std::uint64_t> expected;
    for (const ScenarioSession& session : scenario_.sessions) {
        ++expected[{"target", session.record.target_name}];
        ++expected[{"arch", session.record.architecture}];
        for (const auto& [label, value] : session.record.labels) {
            ++expected[{label, value}];
        }
    }
    std::map<std::tuple<std::string, std::string>, std::uint64_t> labels;
    for (const std::vector<AnswerValue>& row : make_labels(*scan_).rows) {
        labels[{std::get<std::string>(row[0]), std::get<std::string>(row[1])}] = std::get<std::uint64_t>(row[2]);
    }
    EXPECT_EQ(labels, expected);
}

TEST_F(Series, EventsAreThoseThatTopCanShow) {
    const Answer events = make_events(*scan_);
    ASSERT_FALSE(events.rows.empty());
    const Answer top = *make_top(*scan_, symbolizer_, {});
    EXPECT_EQ(std::get<std::string>(events.rows.front()[0]), top.measure->event);
    EXPECT_EQ(events.rows.size(), 1 + top.measure->others.size());
}

}  // namespace
}  // namespace perfleet::series_test
