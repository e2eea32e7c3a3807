// How many samples fell on each symbol, image or both: self, and with all they called. What `top` and the comparison of
// profiles stand on.
//
// Self counts the samples whose innermost frame is in the row, children those with a frame of it anywhere in their call
// chain, each sample once. One thread. Borrows the symbolizer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "query-engine/statistic/frame_names.h"
#include "query-engine/statistic/stack_counts.h"

namespace perfleet {

struct FrameTally {
    std::uint64_t self = 0;
    std::uint64_t children = 0;
};

struct FrameRow {
    std::string symbol;  // empty where rows aren't told apart by it
    std::string image;
};

// Counts by group: whatever tells apart whose samples they are.
template <class kGroup>
class FrameCounts {
public:
    using Tallies = std::unordered_map<std::uint32_t, FrameTally>;  // by number of the row

    FrameCounts(Symbolizer& symbolizer, bool by_symbol, bool by_image)
        : names_{symbolizer}, by_symbol_{by_symbol}, by_image_{by_image} {}

    // group_of(runner) says where a runner's samples count.
    template <class kGroupOf>
    void add(const EpochStackCounts& epoch, const kGroupOf& group_of) {
        names_.begin_epoch(*epoch.dictionary);
        node_rows_.assign(std::max<std::size_t>(epoch.dictionary->stack_count(), 1), kUnknownRow);
        const auto end = epoch.counts.end();
        for (auto count = epoch.counts.begin(); count != end;) {
            const std::uint32_t runner_index = count->runner_index;
            for (; count != end && count->runner_index == runner_index; ++count) {
                add_chain(*epoch.dictionary, *count);
            }
            flush(groups_[group_of(epoch.runners[runner_index])]);
        }
    }

    [[nodiscard]] const std::vector<FrameRow>& rows() const { return rows_; }
    [[nodiscard]] const std::map<kGroup, Tallies>& groups() const { return groups_; }
    // Of all groups, samples without a frame included.
    [[nodiscard]] std::uint64_t total() const { return total_; }

private:
    static constexpr std::uint32_t kUnknownRow = ~0U;

    struct RowSum {
        FrameTally tally;
        std::uint64_t last_chain = 0;  // the chain that was counted last, so that a recursive one counts once
    };

    void add_chain(const EpochDictionary& dictionary, const StackCount& count) {
        ++chain_;
        total_ += count.value;
        touch(row_of(count.stack)).tally.self += count.value;
        chain_of(dictionary, count.stack, chain_nodes_);
        for (const StackNumber node : chain_nodes_) {
            RowSum& sum = touch(row_of(node));
            if (sum.last_chain != chain_) {
                sum.last_chain = chain_;
                sum.tally.children += count.value;
            }
        }
    }

    RowSum& touch(std::uint32_t row) {
        RowSum& sum = sums_[row];
        if (sum.tally.self == 0 && sum.tally.children == 0) {
            touched_.push_back(row);
        }
        return sum;
    }

    std::uint32_t row_of(StackNumber node) {
        const bool is_known = node.value < node_rows_.size();
        if (is_known && node_rows_[node.value] != kUnknownRow) {
            return node_rows_[node.value];
        }
        std::uint32_t symbol = 0;
        std::uint32_t image = 0;
        if (by_symbol_ || by_image_) {
            const FrameName name = names_.name_of(node);
            symbol = by_symbol_ ? name.symbol : 0;
            image = by_image_ ? name.image : 0;
        }
        const std::uint64_t key = std::uint64_t{symbol} << 32U | image;
        const auto [entry, is_new] = row_numbers_.try_emplace(key, static_cast<std::uint32_t>(rows_.size()));
        if (is_new) {
            rows_.push_back({by_symbol_ ? names_.symbols().text(symbol) : std::string{},
                             by_image_ ? names_.images().text(image) : std::string{}});
            sums_.emplace_back();
        }
        if (is_known) {
            node_rows_[node.value] = entry->second;
        }
        return entry->second;
    }

    void flush(Tallies& tallies) {
        for (const std::uint32_t row : touched_) {
            FrameTally& tally = tallies[row];
            tally.self += sums_[row].tally.self;
            tally.children += sums_[row].tally.children;
            sums_[row].tally = {};
        }
        touched_.clear();
    }

    FrameNames names_;
    bool by_symbol_;
    bool by_image_;
    std::vector<std::uint32_t> node_rows_;  // of the epoch
    std::unordered_map<std::uint64_t, std::uint32_t> row_numbers_;
    std::vector<FrameRow> rows_;
    std::vector<RowSum> sums_;            // of the runner at hand; as rows_
    std::vector<std::uint32_t> touched_;  // rows with a sum
    std::vector<StackNumber> chain_nodes_;
    std::uint64_t chain_ = 0;
    std::uint64_t total_ = 0;
    std::map<kGroup, Tallies> groups_;
};

}  // namespace perfleet
