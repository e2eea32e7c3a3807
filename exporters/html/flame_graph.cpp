#include "exporters/html/flame_graph.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kNotKept = ~0U;
constexpr std::size_t kMadeSizeBytes = 32;  // memory of a branch while the graph is made, beside itself: about

// Ascending by (frame, slice), equal ones added up.
void add_up(std::vector<FlameCell>& cells) {
    std::sort(cells.begin(), cells.end(), [](const FlameCell& a, const FlameCell& b) {
        return std::pair{a.frame, a.slice} < std::pair{b.frame, b.slice};
    });
    std::size_t count = 0;
    for (const FlameCell& cell : cells) {
        if (count != 0 && cells[count - 1].frame == cell.frame && cells[count - 1].slice == cell.slice) {
            cells[count - 1].value += cell.value;
        } else {
            cells[count++] = cell;
        }
    }
    cells.resize(count);
}

// Merges every two neighbouring slices of a side.
void merge_slices(std::vector<FlameCell>& cells, std::uint32_t& second_side) {
    const std::uint32_t first_count = (second_side + 1) / 2;
    for (FlameCell& cell : cells) {
        cell.slice = cell.slice < second_side ? cell.slice / 2 : first_count + (cell.slice - second_side) / 2;
    }
    second_side = first_count;
    add_up(cells);
}

}  // namespace

FlameGraphMaker::FlameGraphMaker(Symbolizer& symbolizer, QueryMemory& memory, unsigned worker_count,
                                 FrameNames::Wanted wanted)
    : names_{symbolizer, memory, worker_count, wanted}, share_{memory} {
    branches_.emplace_back();
}

std::uint32_t FlameGraphMaker::callee(std::uint32_t caller, std::uint32_t name) {
    std::uint32_t& number = numbers_.number_of(caller, name);
    if (number == 0) {
        number = static_cast<std::uint32_t>(branches_.size());
        branches_.push_back({name, caller, 0});
    }
    return number;
}

void FlameGraphMaker::add(const Measure& measure, const EpochStackCounts& epoch, std::uint32_t first_slice) {
    total_ += epoch.total;
    names_.name_epoch(*epoch.dictionary, epoch.counts);
    node_branches_.resize(std::max(node_branches_.size(), epoch.dictionary->stack_count()));
    const auto end = epoch.counts.end();
    for (auto count = epoch.counts.begin(); count != end;) {
        const auto first = count;
        count = std::find_if(first, end,
                             [&](const StackCount& other) { return other.runner_index != first->runner_index; });
        const Runner& runner = epoch.runners[first->runner_index];
        const std::uint32_t command = callee(0, commands_.number_of(root_name(measure, epoch, runner)));
        for (const NodeTotal& node : totals_.of(*epoch.dictionary, {first, count})) {
            if (node.node.value >= node_branches_.size()) {
                node_branches_.resize(std::size_t{node.node.value} + 1);
            }
            const std::uint32_t branch = callee(
                node.caller == kEmptyStack ? command : node_branches_[node.caller.value], names_.number_of(node.node));
            node_branches_[node.node.value] = branch;
            if (amounts_.add(node.self.amount) && node.self.amount != 0) {
                cells_.push_back({branch, first_slice + runner.slice, static_cast<std::uint64_t>(node.self.amount)});
            }
        }
        share_.set(names_.size_bytes() + commands_.size_bytes() +
                   branches_.capacity() * (sizeof(Branch) + kMadeSizeBytes) + numbers_.size_bytes() +
                   2 * cells_.capacity() * sizeof(FlameCell));
        if (share_.is_exceeded()) {
            return;
        }
    }
}

bool FlameGraphMaker::is_before(std::uint32_t a, std::uint32_t b) const {
    const Branch& first = branches_[a];
    const Branch& second = branches_[b];
    if (first.caller == 0) {
        return commands_.text(first.name) < commands_.text(second.name);
    }
    const FrameName first_name = names_.name(first.name);
    const FrameName second_name = names_.name(second.name);
    const auto order = names_.symbols().compare(first_name.symbol, second_name.symbol);
    return order != 0 ? order < 0 : names_.images().text(first_name.image) < names_.images().text(second_name.image);
}

FlameGraph FlameGraphMaker::make(std::uint32_t second_side, const FlameGraphLimits& limits) {
    FlameGraph graph;
    for (Branch& branch : branches_) {
        branch.total = 0;
    }
    for (const FlameCell& cell : cells_) {
        branches_[cell.frame].total += cell.value;
        graph.total += cell.value;
    }
    for (std::size_t i = branches_.size(); --i > 0;) {
        branches_[branches_[i].caller].total += branches_[i].total;
    }

    // Kept are all frames above `total_cut` and, in the graph's order, `equal_left` frames equal to it. A caller has at
    // least its callees' total, so branches are cut at their ends.
    std::uint64_t total_cut = 0;
    std::size_t equal_left = 0;
    const bool is_cut = branches_.size() - 1 > limits.frames_max;
    if (is_cut) {
        std::vector<std::uint64_t> totals;
        for (std::size_t i = 1; i < branches_.size(); ++i) {
            totals.push_back(branches_[i].total);
        }
        const auto first_cut = totals.begin() + static_cast<std::ptrdiff_t>(limits.frames_max);
        std::nth_element(totals.begin(), first_cut, totals.end(), std::greater<>{});
        total_cut = *first_cut;
        equal_left = static_cast<std::size_t>(std::count(totals.begin(), first_cut, total_cut));
    }
    const auto is_kept = [&](std::uint32_t branch) {
        if (branches_[branch].total == total_cut && equal_left != 0) {
            --equal_left;
            return true;
        }
        return !is_cut || branches_[branch].total > total_cut;
    };

    // Callees of each branch, as ranges of one array.
    std::vector<std::uint32_t> begins(branches_.size() + 1);
    for (std::size_t i = 1; i < branches_.size(); ++i) {
        ++begins[branches_[i].caller + 1];
    }
    for (std::size_t i = 1; i < begins.size(); ++i) {
        begins[i] += begins[i - 1];
    }
    std::vector<std::uint32_t> callees(branches_.size() - 1);
    std::vector<std::uint32_t> ends{begins.begin(), begins.end() - 1};
    for (std::uint32_t i = 1; i < branches_.size(); ++i) {
        callees[ends[branches_[i].caller]++] = i;
    }

    std::vector<std::uint32_t> frames_of(branches_.size(),
                                         kNotKept);  // of kept branches; else of their caller's
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> functions;  // by name and, of commands, 1
    constexpr std::uint32_t kCutFunction = 2;
    const auto add_frame = [&](std::uint32_t depth, std::uint32_t name, std::uint32_t kind) {
        const auto [entry, is_new] =
            functions.try_emplace({name, kind}, static_cast<std::uint32_t>(graph.functions.size()));
        if (is_new) {
            graph.functions.push_back(kind == kCutFunction ? FlameFunction{kCutName, kCutName}
                                      : kind == 1
                                          ? FlameFunction{printable(commands_.text(name)), ""}
                                          : FlameFunction{printable(names_.symbols().text(names_.name(name).symbol)),
                                                          printable(names_.images().text(names_.name(name).image))});
        }
        graph.frames.push_back({depth, entry->second});
        graph.depth_max = std::max(graph.depth_max, depth);
        return static_cast<std::uint32_t>(graph.frames.size() - 1);
    };
    struct Open {
        std::uint32_t branch;
        std::uint32_t depth;
    };
    std::vector<Open> open;
    const auto open_callees = [&](std::uint32_t branch, std::uint32_t depth) {
        const auto begin = callees.begin() + begins[branch];
        const auto end = callees.begin() + begins[branch + 1];
        std::sort(begin, end, [&](std::uint32_t first, std::uint32_t second) { return is_before(first, second); });
        const auto kept = std::stable_partition(begin, end, is_kept);
        std::reverse(begin, kept);  // the last one is opened first
        for (auto i = begin; i != kept; ++i) {
            open.push_back({*i, depth});
        }
        if (kept == end) {
            return;
        }
        // The frame for cut branches follows its caller, before the others.
        const std::uint32_t frame = add_frame(depth, 0, kCutFunction);
        std::vector<std::uint32_t> cut{kept, end};
        while (!cut.empty()) {
            const std::uint32_t one = cut.back();
            cut.pop_back();
            frames_of[one] = frame;
            ++graph.frames_cut;
            cut.insert(cut.end(), callees.begin() + begins[one], callees.begin() + begins[one + 1]);
        }
        for (auto i = kept; i != end; ++i) {
            graph.value_cut += branches_[*i].total;
        }
    };
    open_callees(0, 0);
    while (!open.empty()) {
        const auto [branch, depth] = open.back();
        open.pop_back();
        frames_of[branch] = add_frame(depth, branches_[branch].name, branches_[branch].caller == 0 ? 1 : 0);
        open_callees(branch, depth + 1);
    }

    graph.cells = cells_;
    for (FlameCell& cell : graph.cells) {
        cell.frame = frames_of[cell.frame];
    }
    add_up(graph.cells);
    for (bool is_one = false; graph.cells.size() > limits.cells_max && !is_one;) {
        const std::uint32_t before = second_side;
        merge_slices(graph.cells, second_side);
        graph.slices_merged *= 2;
        is_one = before <= 1;
    }
    return graph;
}

}  // namespace perfleet
