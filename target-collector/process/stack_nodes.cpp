#include "target-collector/process/stack_nodes.h"

#include <bit>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/process/word_hash.h"

namespace perfleet {

StackNodes::StackNodes(std::uint32_t node_count_max)
    : count_max_{node_count_max}, nodes_(node_count_max), slots_(std::bit_ceil(std::size_t{node_count_max} * 2)) {
    PERFLEET_ASSERT(node_count_max > 0 && node_count_max <= limits::kStackNodesMax);
}

std::optional<StackNodes::Found> StackNodes::intern(const Node& node) {
    const std::uint64_t place = (std::uint64_t{node.parent.value} << 32U) | node.image.value;
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(hash_words(place, node.offset)) & mask;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
        if (nodes_[slots_[slot] - 1] == node) {
            return Found{StackNumber{slots_[slot]}, false};
        }
    }
    if (count_ == count_max_) {
        return std::nullopt;
    }
    nodes_[count_] = node;
    slots_[slot] = ++count_;
    return Found{StackNumber{count_}, true};
}

void StackNodes::clear() {
    slots_.clear();
    count_ = 0;
}

}  // namespace perfleet
