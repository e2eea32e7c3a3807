// Merges the dictionaries of a partition's epochs into one.
//
// One thread. Memory: limits::kDictionaryNodesMax nodes and limits::kDictionaryMapNodesMax numbers in maps, about 70
// MiB; what exceeds a limit is left out and counted.
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

// The name of an epoch's image in the dictionary of its partition; `kernel` only of a module.
struct PartitionImageName {
    ImageDefinition definition;
    std::optional<ImageDefinition> kernel;
};
// Nothing if the image's definition, or that of its kernel, is missing.
[[nodiscard]] std::optional<PartitionImageName> partition_image_name(const EpochDictionary& epoch, ImageNumber image);
// The offset in the partition's dictionary of a frame in this image.
[[nodiscard]] std::uint64_t partition_offset(const ImageDefinition& image, std::uint64_t offset);

// Whether each number that both define means the same. `map`: as StackMap::nodes. Errors: kCorrupt, naming the number.
[[nodiscard]] Result<Done> check_stack_map(const EpochDictionary& epoch, std::span<const std::uint32_t> map,
                                           const PartitionDictionary& dictionary);

class PartitionNodes {
public:
    explicit PartitionNodes(std::uint32_t nodes_max = limits::kDictionaryNodesMax) : tree_{nodes_max} {}

    // False if the epoch gets no map: a definition is missing, a module has another kernel than before, or a limit is
    // reached.
    [[nodiscard]] bool add(const EpochDictionary& epoch);

    // Number of epochs added so far, and of the nodes that they define.
    [[nodiscard]] std::size_t epoch_count() const { return maps_.size(); }
    [[nodiscard]] std::uint64_t epoch_node_count() const { return mapped_count_; }

    // The dictionary and the maps of the epochs, in the order in which they were added. The object can't be used
    // afterwards.
    struct Made {
        PartitionDictionary dictionary;
        std::vector<std::vector<std::uint32_t>> maps;  // StackMap::nodes
    };
    [[nodiscard]] Made finish() &&;

private:
    using ImageKey = std::pair<ImageDefinition, std::uint32_t>;  // with 1 + the number of its kernel; 0: none
    static constexpr std::uint32_t kUnknown = ~0U;

    // Numbers in this object; nothing if there is none.
    [[nodiscard]] std::optional<std::uint32_t> image_number(const EpochDictionary& epoch, ImageNumber image);
    [[nodiscard]] std::optional<std::uint32_t> image_numbered(const ImageDefinition& definition, std::uint32_t kernel);
    // By node: whether a map uses it.
    [[nodiscard]] std::vector<bool> used_nodes() const;
    // Order the used images and nodes as the format requires; return ranks by number, of nodes from 1 on.
    [[nodiscard]] std::vector<std::uint32_t> order_images(const std::vector<bool>& used_nodes,
                                                          PartitionDictionary& dictionary) const;
    [[nodiscard]] std::vector<std::uint32_t> order_nodes(const std::vector<bool>& used_nodes,
                                                         const std::vector<std::uint32_t>& image_ranks,
                                                         PartitionDictionary& dictionary) const;

    FrameTree tree_;
    std::map<ImageKey, std::uint32_t> images_;  // numbers, in order of insertion
    // Kernels by the key that modules are looked up with: the same for all epochs.
    std::map<std::tuple<std::string, std::string, std::uint64_t>, std::uint32_t> module_kernels_;
    std::vector<std::vector<std::uint32_t>> maps_;
    std::uint64_t mapped_count_ = 0;
};

}  // namespace perfleet
