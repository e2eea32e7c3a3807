// Call chains by content: a node for each (caller, image, offset), numbered from 1 in order of insertion.
//
// One thread. Memory: about 130 bytes a node.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/number/flat_table.h"

namespace perfleet {

class FrameTree {
public:
    struct Node {
        std::uint32_t parent = 0;  // the caller's number; 0: none
        std::uint32_t image = 0;   // the user's own numbering of images, without gaps
        std::uint64_t offset = 0;
        std::uint32_t depth = 0;  // nodes above it
    };

    explicit FrameTree(std::uint32_t nodes_max = ~0U) : nodes_max_{nodes_max} {}

    // The node's number; 0 if it doesn't exist and the tree is full.
    [[nodiscard]] std::uint32_t number_of(std::uint32_t parent, std::uint32_t image, std::uint64_t offset) {
        const bool is_full = nodes_.size() >= nodes_max_;
        if (image >= frame_numbers_.size()) {
            if (is_full) {
                return 0;
            }
            frame_numbers_.resize(std::size_t{image} + 1);
        }
        FlatTable<std::uint32_t>& frames = frame_numbers_[image];
        if (is_full) {
            const std::uint32_t frame = frames.find(offset);
            return frame == 0 ? 0 : node_numbers_.find(parent, frame);
        }
        std::uint32_t& frame = frames[offset];
        if (frame == 0) {
            frame = ++frame_count_;
        }
        std::uint32_t& number = node_numbers_.number_of(parent, frame);
        if (number == 0) {
            nodes_.push_back({parent, image, offset, parent == 0 ? 0 : nodes_[parent - 1].depth + 1});
            number = static_cast<std::uint32_t>(nodes_.size());
        }
        return number;
    }

    // Node n is nodes()[n - 1].
    [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }

private:
    std::uint32_t nodes_max_;
    std::vector<FlatTable<std::uint32_t>> frame_numbers_;  // per image: from offset to 1 + frame number
    std::uint32_t frame_count_ = 0;
    std::vector<Node> nodes_;
    CalleeTable node_numbers_;
};

}  // namespace perfleet
