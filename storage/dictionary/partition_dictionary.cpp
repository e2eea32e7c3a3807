#include "storage/dictionary/partition_dictionary.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "schemas/vocabulary/dictionary_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "storage/model/record_bytes.h"

namespace perfleet {
namespace {

constexpr std::size_t kSealSizeBytes = 4;

bool is_before(const PartitionDictionary::Image& a, const PartitionDictionary::Image& b) {
    return std::pair{a.kernel != 0, a} < std::pair{b.kernel != 0, b};
}

void read_partition_images(RecordReader& reader, std::vector<PartitionDictionary::Image>& images) {
    reader.list(images, [&](PartitionDictionary::Image& image) {
        image_fields(reader, image.definition);
        image.kernel = static_cast<std::uint32_t>(reader.varint(limits::kDictionaryImagesMax));
        const bool has_kernel =
            image.kernel == 0 || (image.kernel <= images.size() && images[image.kernel - 1].kernel == 0);
        if (!has_kernel || (!images.empty() && !is_before(images.back(), image)) ||
            images.size() >= limits::kDictionaryImagesMax) {
            reader.fail(ErrorCode::kInvalid, "images out of order, without their kernel, or too many");
        }
    });
}

// The chain from the root to the last node. The next node is encoded as the number of steps up to its caller.
class NodePath {
public:
    // Makes the node `step_count` above the last one the caller. False if the path is shorter.
    [[nodiscard]] bool go_up(std::uint64_t step_count) {
        if (step_count >= path_.size()) {
            return false;
        }
        sibling_ = step_count == 0 ? 0 : path_[path_.size() - static_cast<std::size_t>(step_count)];
        path_.resize(path_.size() - static_cast<std::size_t>(step_count));
        return true;
    }
    // Goes up to a caller on the path, and returns the number of steps.
    [[nodiscard]] std::uint64_t go_up_to(std::uint32_t caller) {
        std::uint64_t step_count = 0;
        while (step_count + 1 < path_.size() &&
               path_[path_.size() - 1 - static_cast<std::size_t>(step_count)] != caller) {
            ++step_count;
        }
        return go_up(step_count) ? step_count : 0;
    }
    void add(std::uint32_t number) { path_.push_back(number); }

    [[nodiscard]] std::uint32_t caller() const { return path_.back(); }
    [[nodiscard]] std::uint32_t sibling() const { return sibling_; }  // the caller's last callee so far; 0: none

private:
    std::vector<std::uint32_t> path_{0};
    std::uint32_t sibling_ = 0;
};

void write_partition_nodes(RecordWriter& writer, std::span<const PartitionDictionary::Node> nodes) {
    NodePath path;
    for (std::uint32_t number = 1; number <= nodes.size(); ++number) {
        const PartitionDictionary::Node& node = nodes[number - 1];
        writer.varint(path.go_up_to(node.parent));
        PartitionDictionary::Node sibling;
        if (path.sibling() != 0) {
            sibling = nodes[path.sibling() - 1];
        }
        writer.varint(node.image - sibling.image);
        writer.varint(node.offset - (node.image == sibling.image ? sibling.offset : 0));
        path.add(number);
    }
}

void read_partition_nodes(RecordReader& reader, std::uint64_t node_count, PartitionDictionary& dictionary) {
    NodePath path;
    for (std::uint32_t number = 1; number <= node_count && !reader.has_failed(); ++number) {
        if (!path.go_up(reader.varint())) {
            reader.fail(ErrorCode::kInvalid, "a node above the outermost");
            return;
        }
        PartitionDictionary::Node sibling;
        if (path.sibling() != 0) {
            sibling = dictionary.nodes[path.sibling() - 1];
        }
        const std::uint64_t image = reader.sum_of(sibling.image, reader.varint(UINT32_MAX));
        const std::uint64_t offset = reader.sum_of(image == sibling.image ? sibling.offset : 0, reader.varint());
        const PartitionDictionary::Node node{path.caller(), static_cast<std::uint32_t>(image), offset};
        if (image >= dictionary.images.size() || (path.sibling() != 0 && node <= sibling)) {
            reader.fail(ErrorCode::kInvalid, "a node out of order, or of no image");
        }
        dictionary.nodes.push_back(node);
        path.add(number);
    }
}

}  // namespace

std::string encode_dictionary(const PartitionDictionary& dictionary) {
    RecordWriter writer;
    writer.varint(dictionary.nodes.size());
    writer.list(dictionary.images, [&](const PartitionDictionary::Image& image) {
        image_fields(writer, image.definition);
        writer.field(image.kernel);
    });
    write_partition_nodes(writer, dictionary.nodes);
    return writer.finish();
}

Result<PartitionDictionary> decode_dictionary_untrusted(std::string_view bytes_untrusted) {
    if (bytes_untrusted.size() > limits::kDictionarySizeBytesMax) {
        return Error{ErrorCode::kTooLarge,
                     "dictionary of a partition: " + std::to_string(bytes_untrusted.size()) + " bytes"};
    }
    RecordReader reader{bytes_untrusted, "dictionary of a partition"};
    PartitionDictionary dictionary;
    const std::uint64_t node_count = reader.varint(limits::kDictionaryNodesMax);
    read_partition_images(reader, dictionary.images);
    read_partition_nodes(reader, node_count, dictionary);
    PERFLEET_TRY(reader.end());
    return dictionary;
}

std::uint64_t peek_node_count_untrusted(std::string_view bytes_untrusted) {
    std::uint64_t count = 0;
    for (std::size_t i = 1; i < bytes_untrusted.size() && i <= 5; ++i) {  // after the version byte
        const auto byte = static_cast<unsigned char>(bytes_untrusted[i]);
        count |= std::uint64_t{byte & 0x7fU} << (7 * (i - 1));
        if (byte < 0x80) {
            return count;
        }
    }
    return 0;
}

std::uint32_t dictionary_checksum(std::string_view bytes) {
    std::uint32_t checksum = 0;
    for (std::size_t i = 0; i < kSealSizeBytes && bytes.size() >= kSealSizeBytes; ++i) {
        const auto byte = static_cast<unsigned char>(bytes[bytes.size() - kSealSizeBytes + i]);
        checksum |= std::uint32_t{byte} << (8 * i);
    }
    return checksum;
}

Result<EpochDictionary> epoch_dictionary_of(const PartitionDictionary& dictionary) {
    EpochDictionary numbers;
    numbers.expect_stacks(dictionary.nodes.size());
    for (std::uint32_t i = 0; i < dictionary.images.size(); ++i) {
        const PartitionDictionary::Image& image = dictionary.images[i];
        PERFLEET_TRY(numbers.define_image(ImageNumber{i}, image.definition));
        if (image.kernel != 0) {
            numbers.set_kernel(ImageNumber{i}, ImageNumber{image.kernel - 1});
        }
    }
    for (std::uint32_t i = 0; i < dictionary.nodes.size(); ++i) {
        const PartitionDictionary::Node& node = dictionary.nodes[i];
        const Frame frame{ImageNumber{node.image}, node.offset};
        PERFLEET_TRY(numbers.define_stack(StackNumber{i + 1}, {StackNumber{node.parent}, frame}));
    }
    if (!numbers.finish().ok()) {
        return Error{ErrorCode::kInvalid, "dictionary of a partition: a chain of too many nodes"};
    }
    return numbers;
}

std::string encode_stack_map(const StackMap& map) {
    RecordWriter writer;
    writer.fixed_u32(map.dictionary_checksum);
    write_cover(writer, map.definitions.epoch, map.definitions.row_count, map.definitions.seqs);
    writer.rows(map.nodes);
    writer.column(map.nodes, [](const auto& node) { return &node; });
    return writer.finish();
}

Result<StackMap> decode_stack_map_untrusted(std::string_view bytes_untrusted) {
    RecordReader reader{bytes_untrusted, "map of stacks"};
    StackMap map;
    map.dictionary_checksum = reader.fixed_u32();
    map.definitions = read_cover(reader);
    reader.rows(map.nodes, limits::kDictionaryEpochNodesMax + 1);
    reader.column(map.nodes, [](auto& node) { return &node; });
    PERFLEET_TRY(reader.end());
    if (std::any_of(map.nodes.begin(), map.nodes.end(), [](auto node) { return node > limits::kDictionaryNodesMax; })) {
        return Error{ErrorCode::kInvalid, "map of stacks: a node beyond the most of a dictionary"};
    }
    return map;
}

}  // namespace perfleet
