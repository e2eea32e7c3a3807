// Computes from the counts of call chains those of their nodes: how often each was innermost (self), and how often it
// was in a chain (total). Chains share nodes, so the cost is a step a node instead of a step a frame of each chain.
//
// One thread. Borrows nothing between calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "query-engine/statistic/stack/stack_counts.h"

namespace perfleet {

struct NodeTotal {
    StackNumber node;
    StackNumber caller;  // kEmptyStack: none
    Sum self;            // of chains that end here
    Sum total;           // of all chains through it
};

class StackTotals {
public:
    // `counts`: of one epoch and one runner, ascending by stack. In the result callers come before callees; a chain
    // without frames is the node kEmptyStack. Valid until the next call.
    [[nodiscard]] std::span<const NodeTotal> of(const EpochDictionary& dictionary, std::span<const StackCount> counts);

private:
    void take_up(const EpochDictionary& dictionary, std::span<const StackCount> counts);

    std::vector<NodeTotal> nodes_;
    std::vector<std::uint32_t> places_;  // by node: 1 + its index in nodes_ while they are made, else 0
    std::vector<std::uint32_t> found_;   // nodes of the chains, in any order
};

}  // namespace perfleet
