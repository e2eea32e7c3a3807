// The epoch's stack tree: (parent, image, offset) -> node number, in the order of first use.
//
// Most nodes have one callee, which is stored after its caller and looked up there; only further callees are in a hash
// table, where each lookup may be a cache miss. Address space is allocated at construction; interning allocates
// nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/vocabulary/ids.h"
#include "target-collector/process/zeroed_array.h"

namespace perfleet {

class StackNodes {
public:
    struct Node {
        std::uint64_t offset = 0;
        StackNumber parent;
        ImageNumber image;

        friend constexpr bool operator==(const Node&, const Node&) = default;
    };

    // `node_count_max` is at most limits::kStackNodesMax.
    explicit StackNodes(std::uint32_t node_count_max);

    struct Found {
        StackNumber number;
        bool is_new = false;
    };
    // Empty if the node is new and the table is full.
    [[nodiscard]] std::optional<Found> intern(const Node& node);

    [[nodiscard]] std::uint32_t node_count() const { return count_; }
    void clear();

private:
    std::uint32_t count_max_;
    std::uint32_t count_ = 0;
    ZeroedArray<Node> nodes_;                   // node number - 1
    ZeroedArray<std::uint32_t> first_callees_;  // by node number, 0 for the outermost frames; 0: none
    ZeroedArray<std::uint32_t> slots_;          // of further callees: open addressing; node number, 0: free
};

}  // namespace perfleet
