// The dictionary of a partition: the call chains that its sessions share, once, by content; and the maps from an
// epoch's stack numbers to its nodes. With them the rows of many sessions are counted in one array, and each node is
// named once.
//
// Both repeat what definitions in blocks say: if one is missing, damaged or outdated, the definitions are read. Byte
// layout and reasons: storage/FORMAT.md. Plain values; what is decoded is untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/model/row_cover.h"

namespace perfleet {

// Whether rows of this kind define call chains.
[[nodiscard]] constexpr bool defines_stacks(Kind kind) { return kind == Kind::kImage || kind == Kind::kStack; }

struct PartitionDictionary {
    // An image as an epoch defines it, without properties that no name depends on: a kernel has address 0, its modules
    // their distance from it.
    struct Image {
        ImageDefinition definition;
        std::uint32_t kernel = 0;  // of a module: 1 + the index of its kernel

        friend auto operator<=>(const Image&, const Image&) = default;
    };
    // Frames in memory without a file, or outside any mapping, have offset 0: no name depends on it.
    struct Node {
        std::uint32_t parent = 0;  // the caller's number; 0: none
        std::uint32_t image = 0;   // index
        std::uint64_t offset = 0;

        friend auto operator<=>(const Node&, const Node&) = default;
    };

    std::vector<Image> images;  // ascending; images without a kernel first
    // Node n is nodes[n - 1]. A node precedes its callees, and these precede its next sibling; siblings ascend by
    // (image, offset).
    std::vector<Node> nodes;

    friend bool operator==(const PartitionDictionary&, const PartitionDictionary&) = default;
};

// Equal dictionaries give equal bytes.
[[nodiscard]] std::string encode_dictionary(const PartitionDictionary& dictionary);
// The result satisfies everything that the comments above say. Errors: kInvalid, kCorrupt, kTooLarge, kUnsupported.
[[nodiscard]] Result<PartitionDictionary> decode_dictionary_untrusted(std::string_view bytes_untrusted);
// The stated number of nodes, without decoding; 0 if it can't be read.
[[nodiscard]] std::uint64_t peek_node_count_untrusted(std::string_view bytes_untrusted);
// The checksum at the end of an encoded dictionary, by which maps name it.
[[nodiscard]] std::uint32_t dictionary_checksum(std::string_view bytes);

// The dictionary in the form of an epoch's. Errors: kInvalid (a chain of more than limits::kStackChainMax nodes).
[[nodiscard]] Result<EpochDictionary> epoch_dictionary_of(const PartitionDictionary& dictionary);

// The map of one epoch in one partition.
struct StackMap {
    std::uint32_t dictionary_checksum = 0;
    RowCover definitions;              // all rows of the epoch whose kind defines_stacks()
    std::vector<std::uint32_t> nodes;  // node of each stack number; 0: not defined, or the empty stack

    friend bool operator==(const StackMap&, const StackMap&) = default;
};

[[nodiscard]] std::string encode_stack_map(const StackMap& map);
// Doesn't check that the nodes exist in a dictionary. Errors: as decode_dictionary_untrusted.
[[nodiscard]] Result<StackMap> decode_stack_map_untrusted(std::string_view bytes_untrusted);

}  // namespace perfleet
