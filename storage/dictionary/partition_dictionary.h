// The dictionary of a partition: what the call chains of its sessions have in common, once, by content; and the maps
// that say which of its nodes the stack numbers of an epoch are. So the rows of many sessions are counted in one array
// and named once.
//
// Both stand beside the definitions in blocks, which say the same: where one of them is missing, damaged or out of
// date, those are read. Byte layout and why it is so: storage/FORMAT.md. Plain values; what is decoded is untrusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/series.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/model/row_cover.h"

namespace perfleet {

// Rows that say what the numbers of call chains mean.
[[nodiscard]] constexpr bool defines_stacks(Kind kind) { return kind == Kind::kImage || kind == Kind::kStack; }

struct PartitionDictionary {
    // As an epoch defines it, but for what no name depends on: a kernel has address 0, its modules their distance from
    // it.
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

    std::vector<Image> images;  // those without a kernel first, ascending, then the others, ascending
    // Node n is nodes[n - 1]. A node stands before all that it calls, and these before its next sibling; siblings
    // ascend by (image, offset).
    std::vector<Node> nodes;

    friend bool operator==(const PartitionDictionary&, const PartitionDictionary&) = default;
};

// Equal dictionaries give equal bytes.
[[nodiscard]] std::string encode_dictionary(const PartitionDictionary& dictionary);
// Everything that the comments above promise holds in what it gives. Errors: kInvalid, kCorrupt, kTooLarge,
// kUnsupported.
[[nodiscard]] Result<PartitionDictionary> decode_dictionary_untrusted(std::string_view bytes_untrusted);
// How many nodes it says that it has, without decoding; 0 where it can't be read.
[[nodiscard]] std::uint64_t peek_node_count_untrusted(std::string_view bytes_untrusted);
// The checksum at the end of an encoded one, by which maps name it.
[[nodiscard]] std::uint32_t dictionary_checksum(std::string_view bytes);

// What its node and image numbers mean. Errors: kInvalid, a chain of more than limits::kStackChainMax nodes.
[[nodiscard]] Result<EpochDictionary> epoch_dictionary_of(const PartitionDictionary& dictionary);

// Of one epoch in one partition.
struct StackMap {
    std::uint32_t dictionary_checksum = 0;
    RowCover definitions;              // all that the epoch had of rows that defines_stacks()
    std::vector<std::uint32_t> nodes;  // of stack number n: nodes[n]; 0: not defined, and of the stack without frames

    friend bool operator==(const StackMap&, const StackMap&) = default;
};

[[nodiscard]] std::string encode_stack_map(const StackMap& map);
// Nodes are not compared with a dictionary. Errors: as decode_dictionary_untrusted.
[[nodiscard]] Result<StackMap> decode_stack_map_untrusted(std::string_view bytes_untrusted);

}  // namespace perfleet
