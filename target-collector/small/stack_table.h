// Call chains of one epoch as nodes (frame, caller), numbered from 1: a table of fixed size.
//
// Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/ids.h"

namespace perfleet {

class StackTable {
public:
    static constexpr std::uint32_t kNodesMax = 768;

    struct Interned {
        StackNumber number;  // kEmptyStack: the table is full
        bool is_new = false;
    };
    [[nodiscard]] Interned intern(StackNumber caller, ImageNumber image, std::uint64_t offset);

    void clear();

private:
    static constexpr std::size_t kSlots = 1'024;  // a power of two, larger than kNodesMax
    static_assert(kNodesMax < kSlots);

    struct Node {
        std::uint64_t offset = 0;
        StackNumber caller;
        ImageNumber image;
        bool operator==(const Node&) const = default;
    };

    std::array<Node, kNodesMax> nodes_{};
    std::array<std::uint16_t, kSlots> slots_{};  // number of the node; 0: free
    std::uint32_t node_count_ = 0;
};

}  // namespace perfleet
