#include "target-collector/process/stack_nodes.h"

#include <bit>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/word_hash.h"

namespace perfleet {

StackNodes::StackNodes(std::uint32_t node_count_max)
    : count_max_{node_count_max},
      nodes_(node_count_max),
      first_callees_(std::size_t{node_count_max} + 1),
      slots_(std::bit_ceil(std::size_t{node_count_max} * 2)) {
    PERFLEET_ASSERT(node_count_max > 0 && node_count_max <= limits::kStackNodesMax);
}

std::optional<StackNodes::Found> StackNodes::intern(const Node& node) {
    std::uint32_t* number = &first_callees_[node.parent.value];
    if (*number != 0 && nodes_[*number - 1] != node) {
        const std::uint64_t place = (std::uint64_t{node.parent.value} << 32U) | node.image.value;
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = static_cast<std::size_t>(hash_words(place, node.offset)) & mask;
        while (slots_[slot] != 0 && nodes_[slots_[slot] - 1] != node) {
            slot = (slot + 1) & mask;
        }
        number = &slots_[slot];
    }
    if (*number != 0) {
        return Found{StackNumber{*number}, false};
    }
    if (count_ == count_max_) {
        return std::nullopt;
    }
    nodes_[count_] = node;
    *number = ++count_;
    return Found{StackNumber{count_}, true};
}

void StackNodes::clear() {
    first_callees_.clear();
    slots_.clear();
    count_ = 0;
}

}  // namespace perfleet
