// Puts the dictionary of a partition together from those of its epochs.
//
// One thread. Memory: limits::kDictionaryNodesMax nodes and limits::kDictionaryMapNodesMax numbers of maps, about 70
// MiB; what passes a limit is left out, and counted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schemas/vocabulary/dictionary_limits.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/dictionary/frame_tree.h"
#include "storage/dictionary/partition_dictionary.h"

namespace perfleet {

// What an image of an epoch is called in the dictionary of its partition; `kernel` of a module alone.
struct PartitionImageName {
    ImageDefinition definition;
    std::optional<ImageDefinition> kernel;
};
// Nothing where that can't be told: the definition, or that of its kernel, is missing.
[[nodiscard]] std::optional<PartitionImageName> partition_image_name(const EpochDictionary& epoch, ImageNumber image);
// What the offset of a frame in this image is there.
[[nodiscard]] std::uint64_t partition_offset(const ImageDefinition& image, std::uint64_t offset);

// Whether each number that both define means the same. `map`: as StackMap::nodes. Errors: kCorrupt, naming the number.
[[nodiscard]] Result<Done> check_stack_map(const EpochDictionary& epoch, std::span<const std::uint32_t> map,
                                           const PartitionDictionary& dictionary);

class PartitionNodes {
public:
    explicit PartitionNodes(std::uint32_t nodes_max = limits::kDictionaryNodesMax) : tree_{nodes_max} {}

    // False where the epoch gets no map: a definition is missing, a module has another kernel than before, or there is
    // no room.
    [[nodiscard]] bool add(const EpochDictionary& epoch);

    // Of all epochs that were added so far: how many, and the nodes that they define.
    [[nodiscard]] std::size_t epoch_count() const { return maps_.size(); }
    [[nodiscard]] std::uint64_t epoch_node_count() const { return mapped_count_; }

    // The dictionary; and what the maps of the epochs are, in the order in which they were added. Nothing more can be
    // added then.
    struct Made {
        PartitionDictionary dictionary;
        std::vector<std::vector<std::uint32_t>> maps;  // StackMap::nodes
    };
    [[nodiscard]] Made finish() &&;

private:
    using ImageKey = std::pair<ImageDefinition, std::uint32_t>;  // and 1 + the number of its kernel; 0: none
    static constexpr std::uint32_t kUnknown = ~0U;

    // Numbers here; nothing where there is none.
    [[nodiscard]] std::optional<std::uint32_t> image_number(const EpochDictionary& epoch, ImageNumber image);
    [[nodiscard]] std::optional<std::uint32_t> image_numbered(const ImageDefinition& definition, std::uint32_t kernel);
    // By node: whether a map has it.
    [[nodiscard]] std::vector<bool> used_nodes() const;
    // Both in the order of the format, of what is used; ranks by number, of nodes from 1 on.
    [[nodiscard]] std::vector<std::uint32_t> order_images(const std::vector<bool>& used_nodes,
                                                          PartitionDictionary& dictionary) const;
    [[nodiscard]] std::vector<std::uint32_t> order_nodes(const std::vector<bool>& used_nodes,
                                                         const std::vector<std::uint32_t>& image_ranks,
                                                         PartitionDictionary& dictionary) const;

    FrameTree tree_;
    std::map<ImageKey, std::uint32_t> images_;  // numbers, in the order in which they came
    // Kernels by what a module's names are looked for with: the same for all epochs.
    std::map<std::tuple<std::string, std::string, std::uint64_t>, std::uint32_t> module_kernels_;
    std::vector<std::vector<std::uint32_t>> maps_;
    std::uint64_t mapped_count_ = 0;
};

}  // namespace perfleet
