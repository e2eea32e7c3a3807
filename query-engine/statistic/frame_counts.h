// How many samples fell on each symbol, image or both: self, and with all they called. What `top` and the comparison of
// profiles stand on.
//
// Self counts the samples whose innermost frame is in the row, children those with a frame of it anywhere in their call
// chain, each sample once. One thread. Borrows the symbolizer and the query's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query-engine/scan/query_memory.h"
#include "query-engine/statistic/frame_names.h"
#include "query-engine/statistic/stack_totals.h"
#include "storage/rollup/flat_table.h"

namespace perfleet {

struct FrameTally {
    std::uint64_t self = 0;
    std::uint64_t children = 0;
};

// The texts are those of the FrameCounts that made it.
struct FrameRow {
    std::string_view symbol;  // empty where rows aren't told apart by it
    std::string_view image;
};

// Counts by group: whatever tells apart whose samples they are.
template <class Group>
class FrameCounts {
public:
    using Tallies = std::unordered_map<std::uint32_t, FrameTally>;  // by number of the row

    FrameCounts(Symbolizer& symbolizer, QueryMemory& memory, bool by_symbol, bool by_image)
        : names_{symbolizer}, by_symbol_{by_symbol}, by_image_{by_image}, share_{memory} {}

    // group_of(runner) says where a runner's samples count.
    template <class GroupOf>
    void add(const EpochStackCounts& epoch, const GroupOf& group_of) {
        names_.begin_epoch(*epoch.dictionary);
        node_rows_.assign(std::max<std::size_t>(epoch.dictionary->stack_count(), 1), {});
        const auto end = epoch.counts.end();
        for (auto count = epoch.counts.begin(); count != end;) {
            const auto first = count;
            count = std::find_if(first, end,
                                 [&](const StackCount& other) { return other.runner_index != first->runner_index; });
            for (const NodeTotal& node : totals_.of(*epoch.dictionary, {first, count})) {
                add_node(node);
            }
            flush(groups_[group_of(epoch.runners[first->runner_index])]);
        }
        share_.set(size_bytes());
    }

    [[nodiscard]] const std::vector<FrameRow>& rows() const { return rows_; }
    [[nodiscard]] const std::map<Group, Tallies>& groups() const { return groups_; }
    // Of all groups, samples without a frame included.
    [[nodiscard]] std::uint64_t total() const { return total_; }

private:
    [[nodiscard]] std::size_t size_bytes() const {
        constexpr std::size_t kTallySizeBytes = sizeof(typename Tallies::value_type) + 3 * sizeof(void*);
        std::size_t size_bytes = names_.size_bytes() + node_rows_.capacity() * sizeof(NodeRow) +
                                 row_numbers_.size_bytes() + rows_.capacity() * sizeof(FrameRow) +
                                 sums_.capacity() * sizeof(FrameTally);
        for (const auto& [group, tallies] : groups_) {
            size_bytes += sizeof(group) + tallies.size() * kTallySizeBytes;
        }
        return size_bytes;
    }

    static constexpr std::uint32_t kUnknownRow = ~0U;

    // What is known of a node: its row, and whether none of its callers has the same, for then a sample of the node is
    // one of the row's that wasn't counted yet.
    struct NodeRow {
        std::uint32_t row = kUnknownRow;
        StackNumber caller;
        bool is_outermost = true;
        std::uint64_t path = 0;  // a bit for its row and those of its callers, of 64: most rows aren't on the path
    };

    void add_node(const NodeTotal& node) {
        const NodeRow& known = node_row(node.node, node.caller);
        FrameTally& sum = sums_[known.row];
        if (sum.self == 0 && sum.children == 0) {
            touched_.push_back(known.row);
        }
        sum.self += node.self;
        sum.children += known.is_outermost ? node.total : 0;
        total_ += node.self;
    }

    // Callers are asked for first.
    const NodeRow& node_row(StackNumber node, StackNumber caller) {
        if (node.value >= node_rows_.size()) {
            node_rows_.resize(std::size_t{node.value} + 1);
        }
        NodeRow& known = node_rows_[node.value];
        if (known.row == kUnknownRow) {
            known.row = row_of(node);
            known.caller = caller;
            known.path = 1ULL << (known.row * 0x9e37'79b9U >> 26U);
            if (caller != kEmptyStack) {
                const NodeRow& outer = node_rows_[caller.value];
                known.is_outermost = (outer.path & known.path) == 0 || !is_on_path(caller, known.row);
                known.path |= outer.path;
            }
        }
        return known;
    }

    [[nodiscard]] bool is_on_path(StackNumber node, std::uint32_t row) const {
        while (node != kEmptyStack && node_rows_[node.value].row != row) {
            node = node_rows_[node.value].caller;
        }
        return node != kEmptyStack;
    }

    std::uint32_t row_of(StackNumber node) {
        const std::uint32_t symbol = by_symbol_ ? names_.symbol_of(node) : 0;
        const std::uint32_t image = by_image_ ? names_.image_of(node) : 0;
        std::uint32_t& number = row_numbers_[std::uint64_t{symbol} << 32U | image];
        if (number == 0) {
            rows_.push_back({by_symbol_ ? std::string_view{names_.symbols().text(symbol)} : std::string_view{},
                             by_image_ ? std::string_view{names_.images().text(image)} : std::string_view{}});
            sums_.emplace_back();
            number = static_cast<std::uint32_t>(rows_.size());
        }
        return number - 1;
    }

    void flush(Tallies& tallies) {
        for (const std::uint32_t row : touched_) {
            FrameTally& tally = tallies[row];
            tally.self += sums_[row].self;
            tally.children += sums_[row].children;
            sums_[row] = {};
        }
        touched_.clear();
    }

    FrameNames names_;
    bool by_symbol_;
    bool by_image_;
    StackTotals totals_;
    std::vector<NodeRow> node_rows_;        // of the epoch
    FlatTable<std::uint32_t> row_numbers_;  // by (symbol, image): 1 + the row's
    std::vector<FrameRow> rows_;
    std::vector<FrameTally> sums_;        // of the runner at hand; as rows_
    std::vector<std::uint32_t> touched_;  // rows with a sum
    std::uint64_t total_ = 0;
    std::map<Group, Tallies> groups_;
    MemoryShare share_;
};

}  // namespace perfleet
