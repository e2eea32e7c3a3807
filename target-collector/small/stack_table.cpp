#include "target-collector/small/stack_table.h"

namespace perfleet {

StackTable::Interned StackTable::intern(StackNumber caller, ImageNumber image, std::uint64_t offset) {
    const Node wanted{offset, caller, image};
    constexpr std::uint64_t kMultiplier = 0x9e37'79b9'7f4a'7c15;  // 2^64 by the golden ratio: spreads low bits upwards
    std::uint64_t hash =
        (offset + (std::uint64_t{caller.value} << 40) + (std::uint64_t{image.value} << 56)) * kMultiplier;
    for (hash >>= 32;; ++hash) {
        std::uint16_t& slot = slots_[hash % kSlots];
        if (slot == 0) {
            if (node_count_ == kNodesMax) {
                return {kEmptyStack, false};
            }
            nodes_[node_count_++] = wanted;
            slot = static_cast<std::uint16_t>(node_count_);
            return {StackNumber{node_count_}, true};
        }
        if (nodes_[slot - 1U] == wanted) {
            return {StackNumber{slot}, false};
        }
    }
}

void StackTable::clear() {
    slots_.fill(0);
    node_count_ = 0;
}

}  // namespace perfleet
