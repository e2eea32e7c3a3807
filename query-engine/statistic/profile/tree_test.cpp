#include "query-engine/statistic/profile/tree.h"

#include <gtest/gtest.h>

#include <map>

#include "query-engine/statistic/testing/profile_scenario.h"
#include "query-engine/statistic/testing/shown_name.h"
#include "storage/store/memory_store.h"

namespace perfleet::tree_test {
namespace {

using Path = std::vector<std::string>;

// Sums of every call path of the samples of event 0, of frames alone: threads' names are tested with `top`.
std::map<Path, std::uint64_t> naive_totals(const ProfileScenario& scenario, bool each_address) {
    Symbolizer symbolizer{nullptr, {}};
    std::map<Path, std::uint64_t> totals;
    for (const ScenarioSession& session : scenario.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                if (sample.event != 0) {
                    continue;
                }
                Path path;
                for (auto frame = sample.frames.rbegin(); frame != sample.frames.rend(); ++frame) {
                    path.push_back(shown_name(symbolizer, scenario.images[frame->image], frame->offset, each_address));
                    ++totals[path];
                }
                if (path.empty()) {
                    ++totals[{"[unknown]"}];
                }
            }
        }
    }
    return totals;
}

class Tree : public ::testing::Test {
protected:
    void SetUp() override { deliver(scenario_, {}, *store_); }

    Answer tree(const TreeOptions& options) {
        Selection selection;
        selection.counts_rows = true;
        const Result<Scan> scan = Scan::open(*store_, selection);
        EXPECT_TRUE(scan.ok());
        Symbolizer symbolizer{nullptr, {}};
        Result<Answer> answer = make_tree(*scan, symbolizer, options);
        EXPECT_TRUE(answer.ok());
        return std::move(answer).value();
    }

    static std::uint64_t number(const std::vector<AnswerValue>& row, std::size_t column) {
        return std::get<std::uint64_t>(row[column]);
    }

    ProfileScenario scenario_ = make_scenario(8);
    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(Tree, TotalsEqualANaiveCountOfEveryCallPath) {
    for (const bool each_address : {false, true}) {
        std::map<Path, std::uint64_t> totals;
        Path path;
        TreeOptions options;
        options.each_address = each_address;
        for (const std::vector<AnswerValue>& row : tree(options).rows) {
            path.resize(number(row, 0));
            path.push_back(std::get<std::string>(row[1]));
            if (path.size() > 1) {
                totals[Path{path.begin() + 1, path.end()}] += number(row, 3);
            }
        }
        EXPECT_EQ(totals, naive_totals(scenario_, each_address));
    }
}

TEST_F(Tree, EveryBranchIsItsOwnSamplesAndItsCallees) {
    const Answer answer = tree({});
    std::uint64_t whole = 0;
    for (std::size_t i = 0; i < answer.rows.size(); ++i) {
        const std::uint64_t depth = number(answer.rows[i], 0);
        std::uint64_t sum = number(answer.rows[i], 5);
        std::uint64_t before = ~0ULL;
        for (std::size_t j = i + 1; j < answer.rows.size() && number(answer.rows[j], 0) > depth; ++j) {
            if (number(answer.rows[j], 0) == depth + 1) {
                sum += number(answer.rows[j], 3);
                EXPECT_LE(number(answer.rows[j], 3), before);
                before = number(answer.rows[j], 3);
            }
        }
        EXPECT_EQ(number(answer.rows[i], 3), sum);
        whole += depth == 0 ? sum : 0;
    }
    EXPECT_EQ(whole, answer.ledger.stored);
}

// As naive_totals, of the chains read from their innermost frame.
TEST_F(Tree, InvertedCountsEveryPathOfCallers) {
    Symbolizer symbolizer{nullptr, {}};
    std::map<Path, std::uint64_t> expected;
    std::uint64_t sample_count = 0;
    for (const ScenarioSession& session : scenario_.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                if (sample.event != 0) {
                    continue;
                }
                ++sample_count;
                Path path;
                for (const ScenarioFrame& frame : sample.frames) {
                    path.push_back(shown_name(symbolizer, scenario_.images[frame.image], frame.offset, false));
                    ++expected[path];
                }
                if (path.empty()) {
                    ++expected[{"[unknown]"}];
                }
            }
        }
    }
    TreeOptions options;
    options.is_inverted = true;
    std::map<Path, std::uint64_t> totals;
    std::uint64_t self_sum = 0;
    Path path;
    for (const std::vector<AnswerValue>& row : tree(options).rows) {
        path.resize(number(row, 0));
        path.push_back(std::get<std::string>(row[1]));
        totals[path] += number(row, 3);
        self_sum += number(row, 5);
    }
    EXPECT_EQ(totals, expected);
    EXPECT_EQ(self_sum, sample_count);
}

TEST_F(Tree, SmallBranchesAreLeftOut) {
    TreeOptions options;
    options.percent_min = 3;
    const Answer answer = tree(options);
    EXPECT_LT(answer.rows.size(), tree({}).rows.size());
    for (const std::vector<AnswerValue>& row : answer.rows) {
        EXPECT_GE(std::get<double>(row[4]), 3.0);
    }
}

}  // namespace
}  // namespace perfleet::tree_test
