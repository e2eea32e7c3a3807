#include "query-engine/http/pyroscope/flame_graph.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <protozero/varint.hpp>
#include <string_view>

namespace perfleet::pyroscope {
namespace {

// Columns of `tree`.
enum : std::size_t { kDepth = 0, kSymbol = 1, kTotal = 3, kSelf = 5 };

constexpr const char* kRoot = "total";
constexpr const char* kOther = "other";

using perfleet::pyroscope::sum_of;  // beside its overload
using Amounts = std::array<std::int64_t, FlameTree::kSides>;

Amounts sum_of(const Amounts& a, const Amounts& b) { return {sum_of(a[0], b[0]), sum_of(a[1], b[1])}; }

// Amounts below 0 have no width.
std::int64_t width_of(const AnswerValue& value) {
    const auto* const positive = std::get_if<std::uint64_t>(&value);
    return positive == nullptr ? 0 : static_cast<std::int64_t>(*positive);
}

}  // namespace

FlameTree::FlameTree() { nodes_.push_back({kRoot, {}, {}, {}}); }

std::int64_t FlameTree::Node::both() const { return sum_of(total[0], total[1]); }

std::uint32_t FlameTree::callee(std::uint32_t caller, const std::string& name) {
    const auto [number, is_new] = numbers_.try_emplace({caller, name}, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) {
        nodes_[caller].callees.push_back(number->second);
        nodes_.push_back({name, {}, {}, {}});
    }
    return number->second;
}

void FlameTree::add(const Answer& tree, std::size_t side) {
    std::vector<std::uint32_t> path{0};  // by depth
    for (const std::vector<AnswerValue>& row : tree.rows) {
        const std::uint64_t depth = std::get<std::uint64_t>(row[kDepth]);
        path.resize(depth + 1);
        const std::string& name = std::get<std::string>(row[kSymbol]);
        const bool is_root = depth == 0 && name.empty();  // rows of imported profiles have no command
        const std::uint32_t index = is_root ? 0 : callee(path.back(), name);
        const auto grow = [](std::int64_t& amount, const AnswerValue& value) {
            amount = sum_of(amount, width_of(value));
        };
        grow(nodes_[index].self[side], row[kSelf]);
        if (!is_root) {
            grow(nodes_[index].total[side], row[kTotal]);
        }
        if (depth == 0) {
            grow(nodes_[0].total[side], row[kTotal]);
        }
        path.push_back(index);
    }
}

void FlameTree::keep_below(const std::vector<std::string>& call_site) {
    std::uint32_t caller = 0;
    std::vector<std::uint32_t> path;
    for (const std::string& name : call_site) {
        const std::vector<std::uint32_t>& callees = nodes_[caller].callees;
        const auto found =
            std::ranges::find_if(callees, [&](std::uint32_t index) { return nodes_[index].name == name; });
        if (found == callees.end()) {
            nodes_.assign(1, {kRoot, {}, {}, {}});
            return;
        }
        caller = *found;
        path.push_back(caller);
    }
    if (path.empty()) {
        return;
    }
    const Node kept = nodes_[path.back()];
    path.insert(path.begin(), 0);
    path.pop_back();
    for (std::size_t i = 0; i < path.size(); ++i) {
        Node& node = nodes_[path[i]];
        node.total = kept.total;
        node.self = {};
        const std::uint32_t next = i + 1 < path.size() ? path[i + 1] : caller;
        node.callees.assign(1, next);
    }
}

std::int64_t FlameTree::least_shown(std::int64_t nodes_max) const {
    std::vector<std::int64_t> totals;
    std::vector<std::uint32_t> open{0};
    while (!open.empty()) {
        const Node& node = nodes_[open.back()];
        open.pop_back();
        totals.push_back(node.both());
        open.insert(open.end(), node.callees.begin(), node.callees.end());
    }
    if (static_cast<std::int64_t>(totals.size()) <= nodes_max) {
        return 0;
    }
    std::ranges::sort(totals, std::greater{});
    return sum_of(totals[static_cast<std::size_t>(nodes_max)],
                  1);  // those as large as the first that is too many go, too
}

Json FlameTree::bars(std::int64_t nodes_max, std::size_t side_count) const {
    struct Bar {
        std::string name;
        const Node* node = nullptr;  // null: "other"
        Amounts start{};
        Amounts total{};
        Amounts self{};
    };
    const std::int64_t least = least_shown(nodes_max);
    std::map<std::string, std::int64_t> name_numbers;
    Json names = Json::array();
    Json levels = Json::array();
    std::int64_t max_self = 0;
    const auto bar_of = [](const Node& node, const Amounts& start) {
        return Bar{node.name, &node, start, node.total, node.self};
    };
    std::vector<Bar> level{bar_of(nodes_[0], {})};
    while (!level.empty()) {
        std::vector<Bar> next;
        Json values = Json::array();
        Amounts end{};
        for (const Bar& bar : level) {
            for (std::size_t side = 0; side < side_count; ++side) {
                values.push_back(bar.start[side] - end[side]);
                values.push_back(bar.total[side]);
                values.push_back(bar.self[side]);
                end[side] = sum_of(bar.start[side], bar.total[side]);
                max_self = std::max(max_self, bar.self[side]);
            }
            const auto [number, is_new] =
                name_numbers.try_emplace(bar.name, static_cast<std::int64_t>(name_numbers.size()));
            if (is_new) {
                names.push_back(bar.name);
            }
            values.push_back(number->second);
            if (bar.node == nullptr) {
                continue;
            }
            Amounts start = sum_of(bar.start, bar.self);
            Bar other{kOther, nullptr, {}, {}, {}};
            for (const std::uint32_t index : bar.node->callees) {
                const Node& callee = nodes_[index];
                if (callee.both() >= least) {
                    next.push_back(bar_of(callee, start));
                    start = sum_of(start, callee.total);
                } else {
                    other.total = sum_of(other.total, callee.total);
                }
            }
            if (sum_of(other.total[0], other.total[1]) > 0) {
                other.start = start;
                other.self = other.total;
                next.push_back(std::move(other));
            }
        }
        levels.push_back(Json{{"values", std::move(values)}});
        level = std::move(next);
    }
    return Json{{"names", std::move(names)}, {"levels", std::move(levels)}, {"maxSelf", max_self}};
}

Json FlameTree::graph(std::int64_t nodes_max) const {
    Json graph = bars(nodes_max, 1);
    graph["total"] = nodes_[0].total[0];
    return graph;
}

std::string FlameTree::tree(std::int64_t nodes_max) const {
    std::string bytes;
    const auto put = [&bytes](std::string_view name, std::int64_t self, std::size_t callee_count) {
        protozero::write_varint(std::back_inserter(bytes), name.size());
        bytes += name;
        protozero::write_varint(std::back_inserter(bytes), static_cast<std::uint64_t>(self));
        protozero::write_varint(std::back_inserter(bytes), callee_count);
    };
    const std::int64_t least = least_shown(nodes_max);
    std::vector<std::uint32_t> open{0};
    while (!open.empty()) {
        const std::uint32_t number = open.back();
        open.pop_back();
        const Node& node = nodes_[number];
        std::int64_t other = number == 0 ? node.self[0] : 0;
        const std::size_t open_before = open.size();
        for (const std::uint32_t callee : node.callees) {
            if (nodes_[callee].total[0] >= least) {
                open.push_back(callee);
            } else {
                other = sum_of(other, nodes_[callee].total[0]);
            }
        }
        put(number == 0 ? "" : node.name, number == 0 ? 0 : node.self[0],
            open.size() - open_before + (other > 0 ? 1 : 0));
        if (other > 0) {
            put(kOther, other, 0);
        }
    }
    return nodes_.size() == 1 && nodes_[0].total[0] == 0 ? "" : bytes;
}

Json FlameTree::diff(std::int64_t nodes_max) const {
    Json graph = bars(nodes_max, kSides);
    graph["total"] = nodes_[0].both();
    graph["leftTicks"] = nodes_[0].total[0];
    graph["rightTicks"] = nodes_[0].total[1];
    return graph;
}

}  // namespace perfleet::pyroscope
