// Call trees as Pyroscope's flame graphs: levels of bars, each with its distance from the one before, total, self, and
// the number of its name.
//
// A call's own part lies left of what it called. Plain values; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "query-engine/http/message_type.h"
#include "query-engine/statistic/answer/answer.h"

namespace perfleet::pyroscope {

// At most the greatest number: values of imported profiles may be of any size.
[[nodiscard]] inline std::int64_t sum_of(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

class FlameTree {
public:
    // Sides of a comparison; one of them is enough for a profile.
    static constexpr std::size_t kSides = 2;

    FlameTree();

    // Adds an answer of `tree`: calls of the same name and callers are one.
    void add(const Answer& tree, std::size_t side = 0);

    // Keeps only call chains through these calls, the outermost first.
    void keep_below(const std::vector<std::string>& call_site);

    // Of the first side.
    [[nodiscard]] std::int64_t total() const { return nodes_[0].total[0]; }

    // The message FlameGraph. Above `nodes_max` calls, the smallest are merged into their caller's "other".
    [[nodiscard]] Json graph(std::int64_t nodes_max) const;

    // Pyroscope's tree: each call by its name (size, bytes), self and number of callees, numbers as varints; callees
    // behind their caller, a root without a name before all. The root's own part belongs to "other". Cut to `nodes_max`
    // calls likewise.
    [[nodiscard]] std::string tree(std::int64_t nodes_max) const;

    // Functions and their calls in the language of Graphviz, labelled as pprof does. Of more than `nodes_max` functions
    // the ones with the least total are left out: calls through them are dotted, and what they have themselves isn't
    // shown. `type`, `unit`: of the values.
    [[nodiscard]] std::string dot(std::int64_t nodes_max, const std::string& type, const std::string& unit) const;

    // The message FlameGraphDiff: first left, then right.
    [[nodiscard]] Json diff(std::int64_t nodes_max) const;

private:
    struct Node {
        std::string name;
        std::array<std::int64_t, kSides> total{};
        std::array<std::int64_t, kSides> self{};
        std::vector<std::uint32_t> callees;

        [[nodiscard]] std::int64_t both() const;
    };

    struct CallGraph;

    [[nodiscard]] std::uint32_t callee(std::uint32_t caller, const std::string& name);
    // Of functions with these names; null: of all.
    [[nodiscard]] CallGraph call_graph(const std::set<std::string>* kept) const;
    // The least total of calls that are shown.
    [[nodiscard]] std::int64_t least_shown(std::int64_t nodes_max) const;
    [[nodiscard]] Json bars(std::int64_t nodes_max, std::size_t side_count) const;

    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> numbers_;  // of nodes, by caller and name
    std::vector<Node> nodes_;  // the first is the root; callers before callees
};

}  // namespace perfleet::pyroscope
