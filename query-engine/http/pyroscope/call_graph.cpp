// Call trees in the language of Graphviz.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "query-engine/http/pyroscope/flame_graph.h"
#include "schemas/text/utf8.h"

namespace perfleet::pyroscope {
namespace {

struct UnitStep {
    const char* suffix;
    double worth;
};
constexpr std::array kTimeSteps{UnitStep{"s", 1e9}, UnitStep{"ms", 1e6}, UnitStep{"us", 1e3}, UnitStep{"ns", 1}};
constexpr std::array kSizeSteps{UnitStep{"GB", 0x1p30}, UnitStep{"MB", 0x1p20}, UnitStep{"kB", 0x1p10},
                                UnitStep{"B", 1}};

std::string amount_text(std::int64_t amount, const std::string& unit) {
    const std::span<const UnitStep> steps = unit == "nanoseconds" ? std::span<const UnitStep>{kTimeSteps}
                                            : unit == "bytes"     ? std::span<const UnitStep>{kSizeSteps}
                                                                  : std::span<const UnitStep>{};
    const auto value = static_cast<double>(amount);
    const auto step = std::ranges::find_if(steps, [&](const UnitStep& one) { return value >= one.worth; });
    if (step == steps.end()) {
        return std::to_string(amount);
    }
    const double shown = value / step->worth;
    return std::trunc(shown) == shown ? fmt::format("{:.0f}{}", shown, step->suffix)
                                      : fmt::format("{:.2f}{}", shown, step->suffix);
}

std::string percent_text(std::int64_t part, std::int64_t whole) {
    const double percent = whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    return percent == 0 || percent >= 99.995 ? fmt::format("{:.0f}%", percent) : fmt::format("{:.2f}%", percent);
}

std::string escaped(std::string_view text) {
    std::string escaped;
    for (const char c : printable(text)) {
        escaped += c == '"' || c == '\\' ? "\\" : "";
        escaped += c;
    }
    return escaped;
}

}  // namespace

struct FlameTree::CallGraph {
    struct Function {
        const std::string* name = nullptr;
        std::int64_t self = 0;
        std::int64_t total = 0;
        std::uint32_t open_count = 0;  // of its calls that are being visited: a recursion counts once
    };
    struct Edge {
        std::int64_t total = 0;
        bool is_direct = false;
        std::uint32_t open_count = 0;
    };
    std::vector<Function> functions;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Edge> edges;  // by the functions' indices
};

FlameTree::CallGraph FlameTree::call_graph(const std::set<std::string>* kept) const {
    constexpr std::uint32_t kNone = ~0U;
    struct Visit {
        std::uint32_t node = 0;
        std::uint32_t caller = kNone;  // the nearest function that is kept
        bool is_direct = true;
        bool has_begun = false;
        std::uint32_t function = kNone;
        CallGraph::Edge* edge = nullptr;
    };
    CallGraph graph;
    std::map<std::string_view, std::uint32_t> numbers;
    std::vector<Visit> visits;
    const auto visit_callees = [&](std::uint32_t node, std::uint32_t caller, bool is_direct) {
        for (const std::uint32_t callee : nodes_[node].callees) {
            visits.push_back({callee, caller, is_direct});
        }
    };
    visit_callees(0, kNone, true);
    while (!visits.empty()) {
        const std::size_t at = visits.size() - 1;
        if (visits[at].has_begun) {
            if (const Visit& visit = visits[at]; visit.function != kNone) {
                --graph.functions[visit.function].open_count;
                if (visit.edge != nullptr) {
                    --visit.edge->open_count;
                }
            }
            visits.pop_back();
            continue;
        }
        visits[at].has_begun = true;
        const Node& node = nodes_[visits[at].node];
        if (kept != nullptr && !kept->contains(node.name)) {
            visit_callees(visits[at].node, visits[at].caller, false);
            continue;
        }
        const auto [number, is_new] =
            numbers.try_emplace(node.name, static_cast<std::uint32_t>(graph.functions.size()));
        if (is_new) {
            graph.functions.push_back({&node.name});
        }
        CallGraph::Function& function = graph.functions[number->second];
        function.self = sum_of(function.self, node.self[0]);
        function.total = function.open_count++ == 0 ? sum_of(function.total, node.total[0]) : function.total;
        visits[at].function = number->second;
        if (const std::uint32_t caller = visits[at].caller; caller != kNone && caller != number->second) {
            CallGraph::Edge& edge = graph.edges[{caller, number->second}];
            edge.total = edge.open_count++ == 0 ? sum_of(edge.total, node.total[0]) : edge.total;
            edge.is_direct |= visits[at].is_direct;
            visits[at].edge = &edge;
        }
        visit_callees(visits[at].node, number->second, true);
    }
    return graph;
}

std::string FlameTree::dot(std::int64_t nodes_max, const std::string& type, const std::string& unit) const {
    const auto ranked = [](CallGraph& graph) {
        std::vector<std::uint32_t> order(graph.functions.size());
        std::ranges::generate(order, [i = 0U]() mutable { return i++; });
        std::ranges::sort(order, {}, [&](std::uint32_t i) {
            const CallGraph::Function& function = graph.functions[i];
            return std::tuple{-function.total, -function.self, std::string_view{*function.name}};
        });
        return order;
    };
    CallGraph graph = call_graph(nullptr);
    std::vector<std::uint32_t> order = ranked(graph);
    const std::size_t all_count = order.size();
    if (all_count > static_cast<std::size_t>(nodes_max)) {
        std::set<std::string> kept;
        for (std::size_t i = 0; i < static_cast<std::size_t>(nodes_max); ++i) {
            kept.insert(*graph.functions[order[i]].name);
        }
        graph = call_graph(&kept);
        order = ranked(graph);
    }
    std::int64_t shown = 0;
    std::int64_t most = 0;
    for (const CallGraph::Function& function : graph.functions) {
        shown = sum_of(shown, function.self);
        most = std::max(most, function.self);
    }
    const auto amount = [&](std::int64_t value) { return amount_text(value, unit); };
    std::string text = "digraph \"perfleet\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n";
    text += fmt::format(
        "subgraph cluster_L {{ \"Type: {0}\" [shape=box fontsize=16 label=\"Type: {0}\\lShowing nodes accounting for "
        "{1}, {2} of {3} total\\l{4}\"] }}\n",
        escaped(type), amount(shown), percent_text(shown, total()), amount(total()),
        order.size() < all_count ? fmt::format("Showing top {} nodes out of {}\\l", order.size(), all_count) : "");
    std::vector<std::size_t> places(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const CallGraph::Function& function = graph.functions[order[i]];
        places[order[i]] = i + 1;
        const double share = most == 0 ? 0 : static_cast<double>(function.self) / static_cast<double>(most);
        const std::string self =
            function.self == 0 ? "0" : amount(function.self) + " (" + percent_text(function.self, total()) + ")";
        const std::string whole = function.total == function.self
                                      ? ""
                                      : fmt::format("{}of {} ({})", function.self == 0 ? " " : "\\n",
                                                    amount(function.total), percent_text(function.total, total()));
        text +=
            fmt::format("N{0} [label=\"{1}\\n{2}{3}\" id=\"node{0}\" fontsize={4} shape=box tooltip=\"{1} ({5})\"]\n",
                        i + 1, escaped(*function.name), self, whole,
                        8 + static_cast<int>(std::ceil(16 * std::sqrt(share))), amount(function.total));
    }
    std::vector<std::tuple<std::int64_t, std::size_t, std::size_t>> calls;
    for (const auto& [functions, edge] : graph.edges) {
        calls.emplace_back(-edge.total, places[functions.first], places[functions.second]);
    }
    std::ranges::sort(calls);
    for (const auto& [negative, from, to] : calls) {
        const auto& edge = graph.edges.at({order[from - 1], order[to - 1]});
        text += fmt::format("N{} -> N{} [label=\" {}\" weight={}{}]\n", from, to, amount(edge.total),
                            1 + (total() == 0 ? 0
                                              : static_cast<int>(100.0 * static_cast<double>(edge.total) /
                                                                 static_cast<double>(total()))),
                            edge.is_direct ? "" : " style=\"dotted\"");
    }
    return text + "}\n";
}

}  // namespace perfleet::pyroscope
