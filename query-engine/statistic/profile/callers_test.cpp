// Callers against a naive count over every sample's frames.
#include <gtest/gtest.h>

#include <set>

#include "query-engine/statistic/testing/profile_scenario.h"
#include "query-engine/statistic/testing/shown_name.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/stores.h"

namespace perfleet::callers_test {
namespace {

TEST(Callers, EqualANaiveCountOfEachSampleOnce) {
    const ProfileScenario scenario = make_scenario(6);
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(scenario, {}, *store);
    Symbolizer symbolizer{nullptr, {}};
    std::map<std::string, std::map<std::string, std::uint64_t>> expected;  // by function, then by caller
    for (const ScenarioSession& session : scenario.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                std::set<std::pair<std::string, std::string>> pairs;
                for (std::size_t i = 0; i < sample.frames.size() && sample.event == 0; ++i) {
                    const auto name = [&](std::size_t frame) {
                        return shown_name(symbolizer, scenario.images[sample.frames[frame].image],
                                          sample.frames[frame].offset, false);
                    };
                    pairs.emplace(name(i), i + 1 == sample.frames.size() ? "[outermost]" : name(i + 1));
                }
                for (const auto& [function, caller] : pairs) {
                    ++expected[function][caller];
                }
            }
        }
    }
    ASSERT_GT(expected.size(), 2U);
    for (const auto& [function, callers] : expected) {
        const auto answer =
            run_text_query("top", {{"callers", function}, {"measure", "samples"}}, *store, {}, UtcNs{0});
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        std::map<std::string, std::uint64_t> counted;
        for (const auto& row : answer->rows) {
            counted[std::get<std::string>(row[0])] += std::get<std::uint64_t>(row[2]);
        }
        EXPECT_EQ(counted, callers) << function;
    }
    EXPECT_EQ(run_text_query("top", {{"callers", "nosuch"}}, *store, {}, UtcNs{0}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace perfleet::callers_test
