#include "query-engine/http/pyroscope/flame_graph.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <protozero/varint.hpp>

namespace perfleet::pyroscope {
namespace {

struct Call {
    std::uint64_t depth;
    std::string name;
    std::uint64_t total;
    std::uint64_t self;
};

Answer tree(const std::vector<Call>& calls) {
    Answer answer;
    for (const Call& call : calls) {
        answer.rows.push_back({call.depth, call.name, {}, call.total, 0.0, call.self, 0.0, {}, {}});
    }
    return answer;
}

const std::vector<Call> kCalls{{0, "sh", 100, 0}, {1, "main", 90, 10}, {2, "a", 50, 50}, {2, "b", 30, 5},
                               {3, "a", 25, 25},  {1, "exit", 10, 10}, {0, "xz", 20, 20}};

std::vector<std::vector<std::int64_t>> levels_of(const Json& graph) {
    std::vector<std::vector<std::int64_t>> levels;
    for (const Json& level : graph["levels"]) {
        levels.push_back(level["values"].get<std::vector<std::int64_t>>());
    }
    return levels;
}

TEST(FlameTree, BarsStandWherePyroscopeHasThem) {
    FlameTree flame;
    flame.add(tree(kCalls));
    const Json graph = flame.graph(100);
    EXPECT_EQ(graph["total"], 120);
    EXPECT_EQ(graph["maxSelf"], 50);
    EXPECT_EQ(graph["names"], (Json{"total", "sh", "xz", "main", "exit", "a", "b"}));
    // Distance, total, self, name; a caller's own part is left of what it called.
    const std::vector<std::vector<std::int64_t>> expected{{0, 120, 0, 0},
                                                          {0, 100, 0, 1, 0, 20, 20, 2},
                                                          {0, 90, 10, 3, 0, 10, 10, 4},
                                                          {10, 50, 50, 5, 0, 30, 5, 6},
                                                          {65, 25, 25, 5}};
    EXPECT_EQ(levels_of(graph), expected);
}

const std::string kGraphHead =
    "digraph \"perfleet\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n"
    "subgraph cluster_L { \"Type: cpu\" [shape=box fontsize=16 label=\"Type: cpu\\lShowing nodes accounting for ";

TEST(FlameTree, CallGraphsAreLabelledAsThoseOfPprof) {
    FlameTree flame;
    flame.add(tree({{0, "sh", 120, 0}, {1, "main", 120, 20}, {2, "a \"b\"", 100, 60}, {3, "main", 40, 40}}));
    EXPECT_EQ(flame.dot(100, "cpu", "count"),
              kGraphHead +
                  "120, 100% of 120 total\\l\"] }\n"
                  "N1 [label=\"main\\n60 (50.00%)\\nof 120 (100%)\" id=\"node1\" fontsize=24 shape=box "
                  "tooltip=\"main (120)\"]\n"
                  "N2 [label=\"sh\\n0 of 120 (100%)\" id=\"node2\" fontsize=8 shape=box tooltip=\"sh (120)\"]\n"
                  "N3 [label=\"a \\\"b\\\"\\n60 (50.00%)\\nof 100 (83.33%)\" id=\"node3\" fontsize=24 shape=box "
                  "tooltip=\"a \\\"b\\\" (100)\"]\n"
                  "N2 -> N1 [label=\" 120\" weight=101]\n"
                  "N1 -> N3 [label=\" 100\" weight=84]\n"
                  "N3 -> N1 [label=\" 40\" weight=34]\n}\n");
    EXPECT_EQ(FlameTree{}.dot(100, "cpu", "nanoseconds"), kGraphHead + "0, 0% of 0 total\\l\"] }\n}\n");
}

TEST(FlameTree, CallGraphsOfFewFunctionsJumpOverTheRest) {
    FlameTree flame;
    flame.add(
        tree({{0, "sh", 1'500'000, 0}, {1, "z", 900'000, 0}, {2, "g", 900'000, 900'000}, {1, "g", 600'000, 600'000}}));
    EXPECT_EQ(flame.dot(2, "cpu", "nanoseconds"),
              kGraphHead +
                  "1.50ms, 100% of 1.50ms total\\lShowing top 2 nodes out of 3\\l\"] }\n"
                  "N1 [label=\"g\\n1.50ms (100%)\" id=\"node1\" fontsize=24 shape=box tooltip=\"g (1.50ms)\"]\n"
                  "N2 [label=\"sh\\n0 of 1.50ms (100%)\" id=\"node2\" fontsize=8 shape=box tooltip=\"sh (1.50ms)\"]\n"
                  "N2 -> N1 [label=\" 1.50ms\" weight=101]\n}\n");
    flame.keep_below({"sh", "z"});
    const std::string graph = flame.dot(2, "inuse", "bytes");
    EXPECT_NE(graph.find("Showing top 2 nodes out of 3"), std::string::npos) << graph;
    EXPECT_NE(graph.find("weight=101 style=\"dotted\"]"), std::string::npos) << graph;
    EXPECT_NE(graph.find("of 878.91kB total"), std::string::npos) << graph;
}

TEST(FlameTree, TheSmallestBecomeTheirCallersOther) {
    FlameTree flame;
    flame.add(tree(kCalls));
    const Json graph = flame.graph(4);  // of 8
    EXPECT_EQ(graph["total"], 120);
    EXPECT_EQ(graph["names"], (Json{"total", "sh", "other", "main", "a"}));
    const std::vector<std::vector<std::int64_t>> expected{
        {0, 120, 0, 0}, {0, 100, 0, 1, 0, 20, 20, 2}, {0, 90, 10, 3, 0, 10, 10, 2}, {10, 50, 50, 4, 0, 30, 30, 2}};
    EXPECT_EQ(levels_of(graph), expected);
}

// What Pyroscope's own reader makes of a tree: self by chain.
std::map<std::string, std::uint64_t> chains_of(const std::string& bytes) {
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    std::map<std::string, std::uint64_t> chains;
    std::vector<std::string> callers{""};
    while (!callers.empty()) {
        std::string chain = callers.back();
        callers.pop_back();
        const std::uint64_t size = protozero::decode_varint(&at, end);
        if (size > 0) {
            chain += (chain.empty() ? "" : ";") + std::string(at, size);
            at += size;
        }
        if (const std::uint64_t self = protozero::decode_varint(&at, end); self > 0) {
            chains[chain] += self;
        }
        callers.insert(callers.end(), protozero::decode_varint(&at, end), chain);
    }
    EXPECT_EQ(at, end);
    return chains;
}

TEST(FlameTree, ATreeHoldsEachChainsOwnPart) {
    using Chains = std::map<std::string, std::uint64_t>;
    FlameTree flame;
    flame.add(tree(kCalls));
    EXPECT_EQ(
        chains_of(flame.tree(100)),
        (Chains{
            {"sh;main", 10}, {"sh;main;a", 50}, {"sh;main;b", 5}, {"sh;main;b;a", 25}, {"sh;exit", 10}, {"xz", 20}}));
    EXPECT_EQ(chains_of(flame.tree(4)),
              (Chains{{"sh;main", 10}, {"sh;main;a", 50}, {"sh;main;other", 30}, {"sh;other", 10}, {"other", 20}}));
    flame.add(tree({{0, "", 7, 7}}));
    EXPECT_EQ(chains_of(flame.tree(100))["other"], 7U);
    EXPECT_EQ(FlameTree{}.tree(100), "");
}

TEST(FlameTree, AnEmptyOneHasItsRoot) {
    const Json graph = FlameTree{}.graph(100);
    EXPECT_EQ(levels_of(graph), (std::vector<std::vector<std::int64_t>>{{0, 0, 0, 0}}));
    EXPECT_EQ(graph["names"], Json{"total"});
}

TEST(FlameTree, ACallSiteKeepsWhatPassesThroughIt) {
    FlameTree flame;
    flame.add(tree(kCalls));
    flame.keep_below({"sh", "main", "b"});
    const std::vector<std::vector<std::int64_t>> expected{
        {0, 30, 0, 0}, {0, 30, 0, 1}, {0, 30, 0, 2}, {0, 30, 5, 3}, {5, 25, 25, 4}};
    EXPECT_EQ(levels_of(flame.graph(100)), expected);
    flame.keep_below({"sh", "nothing"});
    EXPECT_EQ(flame.graph(100)["total"], 0);
}

TEST(FlameTree, ADiffHasTheSameCallsOnBothSides) {
    FlameTree flame;
    flame.add(tree({{0, "sh", 100, 40}, {1, "a", 60, 60}}), 0);
    flame.add(tree({{0, "sh", 30, 0}, {1, "b", 30, 30}}), 1);
    const Json graph = flame.diff(100);
    EXPECT_EQ(graph["total"], 130);
    EXPECT_EQ(graph["leftTicks"], 100);
    EXPECT_EQ(graph["rightTicks"], 30);
    EXPECT_EQ(graph["names"], (Json{"total", "sh", "a", "b"}));
    const std::vector<std::vector<std::int64_t>> expected{
        {0, 100, 0, 0, 30, 0, 0}, {0, 100, 40, 0, 30, 0, 1}, {40, 60, 60, 0, 0, 0, 2, 0, 0, 0, 0, 30, 30, 3}};
    EXPECT_EQ(levels_of(graph), expected);
}

TEST(FlameTree, RowsWithoutACommandBeginAtTheRoot) {
    FlameTree flame;
    flame.add(tree({{0, "", 7, 2}, {1, "main", 5, 5}}));
    EXPECT_EQ(levels_of(flame.graph(100)), (std::vector<std::vector<std::int64_t>>{{0, 7, 2, 0}, {2, 5, 5, 1}}));
}

TEST(FlameTree, SumsEndAtTheGreatestNumber) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    FlameTree flame;
    for (const std::size_t side : {0U, 1U}) {
        flame.add(tree({{0, "sh", kMost, 1}, {1, "a", kMost, kMost}, {1, "b", kMost, kMost}, {0, "xz", kMost, 9}}),
                  side);
    }
    EXPECT_EQ(flame.graph(100)["total"], kMost);
    EXPECT_EQ(flame.diff(2)["total"], kMost);
    EXPECT_EQ(levels_of(flame.graph(100))[1], (std::vector<std::int64_t>{0, kMost, 1, 1, 0, kMost, 9, 2}));
}

TEST(FlameTree, AnswersAddUp) {
    FlameTree flame;
    flame.add(tree(kCalls));
    flame.add(tree(kCalls));
    EXPECT_EQ(flame.graph(100)["total"], 240);
    EXPECT_EQ(levels_of(flame.graph(100))[1], (std::vector<std::int64_t>{0, 200, 0, 1, 0, 40, 40, 2}));
}

}  // namespace
}  // namespace perfleet::pyroscope
