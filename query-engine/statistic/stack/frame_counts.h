// Counts samples by symbol, image or both: self, and including callees. Used by `top` and the comparison of profiles.
//
// Self counts samples whose innermost frame is in the row; children those with any frame of it in their call chain,
// each sample once. One thread. Borrows the symbolizer and the query's memory.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "query-engine/scan/query_memory.h"
#include "query-engine/statistic/stack/frame_names.h"
#include "query-engine/statistic/stack/stack_totals.h"
#include "storage/number/flat_table.h"

namespace perfleet {

struct FrameCount {
    Sum self;
    Sum children;
};

// Counts by group; Group is what distinguishes runners, such as the command.
template <class Group>
class FrameCounts {
public:
    using Counts = std::unordered_map<std::uint32_t, FrameCount>;  // by number of the row

    // Names are looked up on `worker_count` threads; `wanted` applies if rows are of symbols.
    FrameCounts(Symbolizer& symbolizer, QueryMemory& memory, unsigned worker_count, bool by_symbol, bool by_image,
                FrameNames::Wanted wanted = FrameNames::Wanted::kSymbols)
        : names_{symbolizer, memory, worker_count, by_symbol ? wanted : FrameNames::Wanted::kImagesAlone},
          by_symbol_{by_symbol},
          by_image_{by_image},
          share_{memory} {}

    // group_of(runner) gives the group of a runner's samples. Stops counting when the memory is exceeded.
    template <class GroupOf>
    void add(const EpochStackCounts& epoch, const GroupOf& group_of) {
        dictionary_ = epoch.dictionary.get();
        total_ += epoch.total;
        names_.name_epoch(*dictionary_, epoch.counts);
        name_rows_.resize(names_.name_count(), kUnknownRow);
        node_paths_.assign(std::max<std::size_t>(epoch.dictionary->stack_count(), 1), 0);
        const auto end = epoch.counts.end();
        for (auto count = epoch.counts.begin(); count != end;) {
            const auto first = count;
            count = std::find_if(first, end,
                                 [&](const StackCount& other) { return other.runner_index != first->runner_index; });
            for (const NodeTotal& node : totals_.of(*epoch.dictionary, {first, count})) {
                add_node(node);
            }
            flush(groups_[group_of(epoch.runners[first->runner_index])]);
            share_.set(size_bytes());
            if (share_.is_exceeded()) {
                return;
            }
        }
    }

    [[nodiscard]] std::size_t row_count() const { return rows_.size(); }
    // Text of a row; empty if rows aren't grouped by symbol.
    [[nodiscard]] std::string symbol(std::uint32_t row) const {
        return by_symbol_ ? names_.symbols().text(names_.name(rows_[row]).symbol) : std::string{};
    }
    [[nodiscard]] std::string image(std::uint32_t row) const {
        return by_image_ ? names_.images().text(names_.name(rows_[row]).image) : std::string{};
    }
    // Orders by the texts of symbol, then image.
    [[nodiscard]] std::strong_ordering compare(std::uint32_t a, std::uint32_t b) const {
        const FrameName first = names_.name(rows_[a]);
        const FrameName second = names_.name(rows_[b]);
        if (by_symbol_ && first.symbol != second.symbol) {
            return names_.symbols().compare(first.symbol, second.symbol);
        }
        return by_image_ ? names_.images().text(first.image) <=> names_.images().text(second.image)
                         : std::strong_ordering::equal;
    }
    [[nodiscard]] const std::map<Group, Counts>& groups() const { return groups_; }
    [[nodiscard]] std::size_t entry_count() const { return entry_count_; }
    [[nodiscard]] const FrameNames& names() const { return names_; }
    // Of all groups, samples without a frame included.
    [[nodiscard]] const RowTotal& total() const { return total_; }

private:
    static constexpr std::uint32_t kUnknownRow = ~0U;

    [[nodiscard]] std::size_t size_bytes() const {
        // With its node and its place in the table; a group with its node and a first table.
        constexpr std::size_t kCountSizeBytes = sizeof(typename Counts::value_type) + 5 * sizeof(void*);
        constexpr std::size_t kGroupSizeBytes = sizeof(Group) + sizeof(Counts) + 24 * sizeof(void*);
        return names_.size_bytes() + node_paths_.capacity() * sizeof(std::uint64_t) +
               name_rows_.capacity() * sizeof(std::uint32_t) + row_numbers_.size_bytes() +
               rows_.capacity() * sizeof(std::uint32_t) + sums_.capacity() * sizeof(FrameCount) +
               groups_.size() * kGroupSizeBytes + entry_count_ * kCountSizeBytes;
    }

    // Callers must be added before their callees.
    void add_node(const NodeTotal& node) {
        const std::uint32_t row = row_of(node.node);
        FrameCount& sum = sums_[row];
        if (sum.self.rows == 0 && sum.children.rows == 0) {
            touched_.push_back(row);
        }
        sum.self += node.self;
        sum.children += is_outermost(node, row) ? node.total : Sum{};
    }

    // What is known of a node: 62 bits that hash the rows of its callers and its own, and the two flags below. 0:
    // nothing yet.
    static constexpr std::uint64_t kIsKnown = 1ULL << 63U;
    static constexpr std::uint64_t kIsInner = 1ULL << 62U;  // a caller has the same row
    static constexpr std::uint32_t kPathBits = 62;

    // Whether no caller has the node's row: then its samples are new to the row's children.
    bool is_outermost(const NodeTotal& node, std::uint32_t row) {
        if (node.node.value >= node_paths_.size()) {
            node_paths_.resize(std::size_t{node.node.value} + 1);
        }
        std::uint64_t& path = node_paths_[node.node.value];
        if (path == 0) {
            const std::uint64_t outer = node.caller == kEmptyStack ? 0 : node_paths_[node.caller.value] & ~kIsInner;
            const std::uint64_t own = 1ULL << ((row * 0x9e37'79b9U >> 16U) * kPathBits >> 16U);
            path = outer | own | kIsKnown | ((outer & own) != 0 && is_on_path(node.caller, row) ? kIsInner : 0);
        }
        return (path & kIsInner) == 0;
    }

    [[nodiscard]] bool is_on_path(StackNumber node, std::uint32_t row) const {
        while (node != kEmptyStack && name_rows_[names_.number_of(node)] != row) {
            node = caller_of(*dictionary_, node);
        }
        return node != kEmptyStack;
    }

    std::uint32_t row_of(StackNumber node) {
        const std::uint32_t name = names_.number_of(node);
        std::uint32_t& row = name_rows_[name];
        if (row == kUnknownRow) {
            row = new_row(name);
        }
        return row;
    }

    std::uint32_t new_row(std::uint32_t name) {
        const auto next = static_cast<std::uint32_t>(rows_.size());
        if (!by_symbol_ || !by_image_) {
            const auto [symbol, image] = names_.name(name);
            std::uint32_t& known =
                row_numbers_[by_symbol_ ? std::uint64_t{symbol} << 32U : std::uint64_t{by_image_ ? image : 0}];
            if (known != 0) {
                return known - 1;
            }
            known = next + 1;
        }
        rows_.push_back(name);
        sums_.emplace_back();
        return next;
    }

    void flush(Counts& counts) {
        entry_count_ -= counts.size();
        for (const std::uint32_t row : touched_) {
            FrameCount& entry = counts[row];
            entry.self += sums_[row].self;
            entry.children += sums_[row].children;
            sums_[row] = {};
        }
        entry_count_ += counts.size();
        touched_.clear();
    }

    FrameNames names_;
    bool by_symbol_;
    bool by_image_;
    StackTotals totals_;
    const EpochDictionary* dictionary_ = nullptr;
    std::vector<std::uint64_t> node_paths_;  // of the epoch
    std::vector<std::uint32_t> name_rows_;   // by the name's number
    std::vector<std::uint32_t> rows_;        // a name of each row
    FlatTable<std::uint32_t> row_numbers_;   // if several names share a row, by symbol or image: 1 + the row's number
    std::vector<FrameCount> sums_;           // of the current runner; by row
    std::vector<std::uint32_t> touched_;     // rows with a sum of the current runner
    RowTotal total_;
    std::map<Group, Counts> groups_;
    std::size_t entry_count_ = 0;  // of all groups
    MemoryShare share_;
};

}  // namespace perfleet
