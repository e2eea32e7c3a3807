#include "query-engine/statistic/stack/stack_totals.h"

#include <algorithm>

namespace perfleet {

// Finds the nodes of all chains, and puts them in order.
void StackTotals::take_up(const EpochDictionary& dictionary, std::span<const StackCount> counts) {
    found_.clear();
    const std::size_t node_count =
        std::max<std::size_t>(dictionary.stack_count(), std::size_t{counts.back().stack.value} + 1);
    if (places_.size() < node_count) {
        places_.resize(node_count);
    }
    for (const StackCount& count : counts) {
        StackNumber node = count.stack;
        while (places_[node.value] == 0) {
            places_[node.value] = 1;
            found_.push_back(node.value);
            const StackNumber caller = caller_of(dictionary, node);
            if (caller == kEmptyStack) {
                break;
            }
            node = caller;
        }
    }
    // Where most of the nodes are in a chain, looking at all of them is quicker than sorting.
    constexpr std::size_t kFewPart = 8;
    if (found_.size() > node_count / kFewPart) {
        found_.clear();
        for (std::uint32_t node = 0; node < node_count; ++node) {
            if (places_[node] != 0) {
                found_.push_back(node);
            }
        }
    } else {
        std::sort(found_.begin(), found_.end());
    }
    // The mark of cut chains calls nodes with smaller numbers.
    if (const std::uint32_t mark = dictionary.cut_mark().value; mark != 0 && places_[mark] != 0) {
        const auto at = std::lower_bound(found_.begin(), found_.end(), mark);
        std::rotate(found_.begin(), at, at + 1);
    }
}

std::span<const NodeTotal> StackTotals::of(const EpochDictionary& dictionary, std::span<const StackCount> counts) {
    nodes_.clear();
    if (counts.empty()) {
        return nodes_;
    }
    take_up(dictionary, counts);
    nodes_.reserve(found_.size());
    auto next = counts.begin();
    for (const std::uint32_t number : found_) {
        const StackNumber node{number};
        // The mark comes first, but its own rows, if any, come after those of others.
        const bool is_mark = node != kEmptyStack && node == dictionary.cut_mark();
        auto count = next;
        if (is_mark) {
            count = std::lower_bound(counts.begin(), counts.end(), node,
                                     [](const StackCount& one, StackNumber mark) { return one.stack < mark; });
        }
        while (count != counts.end() && count->stack < node) {
            ++count;  // skips rows of the mark
        }
        Sum self;
        for (; count != counts.end() && count->stack == node; ++count) {
            self += count->sum;
        }
        next = is_mark ? next : count;
        nodes_.push_back({node, node == kEmptyStack ? kEmptyStack : caller_of(dictionary, node), self, self});
        places_[number] = static_cast<std::uint32_t>(nodes_.size());
    }
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
        if (node->caller != kEmptyStack) {
            nodes_[places_[node->caller.value] - 1].total += node->total;
        }
        places_[node->node.value] = 0;
    }
    return nodes_;
}

}  // namespace perfleet
