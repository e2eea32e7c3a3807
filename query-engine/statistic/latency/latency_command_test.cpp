#include "query-engine/statistic/latency/latency_command.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "query-engine/statistic/testing/text_query.h"

namespace perfleet {
namespace {

TEST(LatencyCommand, RefusesWhatTheViewDoesNotUse) {
    struct View {
        std::map<std::string, std::string> options;
        std::string name;
        std::set<std::string> used;
    };
    const std::vector<View> views{
        {{}, "the plain table", {"skip", "confidence", "percentiles"}},
        {{{"kbench", "yes"}}, "--kbench", {"skip", "confidence", "error", "converged"}},
        {{{"runs", "yes"}}, "--runs", {"skip", "confidence"}},
        {{{"sketch", "yes"}}, "--sketch", {"skip", "confidence", "percentiles"}},
        {{{"bootstrap", "sd,p99.9"}}, "--bootstrap", {"skip", "confidence"}},
        {{{"table", "yes"}}, "--table", {"skip"}},
        {{{"histogram", "log2"}}, "--histogram log2", {"skip"}},
        {{{"histogram", "linear"}}, "--histogram linear", {"skip", "bucket"}},
        {{{"histogram", "cumulative"}}, "--histogram cumulative", {"skip", "bucket"}},
        {{{"heat-map", "yes"}}, "--heat-map", {"skip", "bucket"}},
        {{{"mode", "bernat"}}, "--mode bernat", {"skip", "percentiles"}},
        {{{"mode", "bernat-intended"}}, "--mode bernat-intended", {"skip", "percentiles"}},
        {{{"mode", "sel4bench-legacy"}}, "--mode sel4bench-legacy", {"skip"}},
    };
    const std::map<std::string, std::string> options{{"skip", "3"},  {"confidence", "99"}, {"percentiles", "50"},
                                                     {"error", "1"}, {"converged", "1"},   {"bucket", "10"}};
    for (const View& view : views) {
        EXPECT_TRUE(read_texts(latency_options(), view.options).ok()) << view.name;
        for (const auto& [name, value] : options) {
            std::map<std::string, std::string> asked = view.options;
            asked.emplace(name, value);
            const auto parsed = read_texts(latency_options(), asked);
            EXPECT_EQ(parsed.ok(), view.used.contains(name)) << "--" << name << " with " << view.name;
            if (!parsed.ok()) {
                EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
                EXPECT_NE(
                    parsed.error().message.find("--" + name + ": " + view.name + " doesn't use it; it goes with "),
                    std::string::npos)
                    << parsed.error().message;
            }
        }
    }
}

TEST(LatencyCommand, TheArticlesRuleTakesWholePercents) {
    EXPECT_TRUE(read_texts(latency_options(), {{"mode", "bernat"}, {"percentiles", "0,100"}}).ok());
    const auto parsed = read_texts(latency_options(), {{"mode", "bernat"}, {"percentiles", "99.9"}});
    ASSERT_FALSE(parsed.ok());
    EXPECT_NE(parsed.error().message.find("whole percents, not 99.9"), std::string::npos) << parsed.error().message;
}

TEST(LatencyCommand, ViewsAreNotMixed) {
    for (const auto& [first, second] :
         {std::pair{"kbench", "runs"}, std::pair{"sketch", "table"}, std::pair{"runs", "sketch"}}) {
        EXPECT_FALSE(read_texts(latency_options(), {{first, "yes"}, {second, "yes"}}).ok()) << first << second;
    }
}

}  // namespace
}  // namespace perfleet
