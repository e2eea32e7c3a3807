#include "storage/dictionary/partition_nodes.h"

#include <algorithm>
#include <numeric>

#include "schemas/vocabulary/kinds.h"

namespace perfleet {

std::optional<PartitionImageName> partition_image_name(const EpochDictionary& epoch, ImageNumber image) {
    if (!epoch.has_image(image)) {
        return std::nullopt;
    }
    PartitionImageName name{epoch.image(image), std::nullopt};
    if (is_kernel(name.definition)) {
        name.definition.address = 0;
    } else if (is_kernel_module(name.definition)) {
        const std::optional<ImageNumber> kernel = epoch.kernel_of(image);
        if (!kernel) {
            return std::nullopt;
        }
        name.kernel = epoch.image(*kernel);
        name.definition.address -= std::exchange(name.kernel->address, 0);
    }
    return name;
}

std::uint64_t partition_offset(const ImageDefinition& image, std::uint64_t offset) {
    constexpr std::uint64_t kWithoutFile = image_flags::kAnonymous | image_flags::kUnknown;
    const bool is_of_kernel = (image.flags & (image_flags::kKernel | image_flags::kKernelModule)) != 0;
    return (image.flags & kWithoutFile) != 0 && !is_of_kernel ? 0 : offset;
}

Result<Done> check_stack_map(const EpochDictionary& epoch, std::span<const std::uint32_t> map,
                             const PartitionDictionary& dictionary) {
    for (std::uint32_t number = 1; number < map.size(); ++number) {
        const std::uint32_t here = map[number];
        const bool is_known = here <= dictionary.nodes.size();
        if (is_known && (here == 0 || !epoch.has_stack(StackNumber{number}))) {
            continue;
        }
        const StackNode& node = epoch.stack(StackNumber{number});
        const bool is_lost = is_known && (!epoch.has_image(node.frame.image) || node.parent.value >= map.size());
        bool is_same = is_known && !is_lost;
        if (is_same) {
            const PartitionDictionary::Node& mapped = dictionary.nodes[here - 1];
            const PartitionDictionary::Image& image = dictionary.images[mapped.image];
            const std::optional<PartitionImageName> name = partition_image_name(epoch, node.frame.image);
            is_same = name && name->definition == image.definition && name->kernel.has_value() == (image.kernel != 0) &&
                      (!name->kernel || *name->kernel == dictionary.images[image.kernel - 1].definition) &&
                      mapped.parent == map[node.parent.value] &&
                      mapped.offset == partition_offset(epoch.image(node.frame.image), node.frame.offset);
        }
        if (!is_same && !is_lost) {
            return Error{ErrorCode::kCorrupt, "stack " + std::to_string(number) + " means something else there"};
        }
    }
    return Done{};
}

std::optional<std::uint32_t> PartitionNodes::image_numbered(const ImageDefinition& definition, std::uint32_t kernel) {
    const auto found = images_.find({definition, kernel});
    if (found != images_.end()) {
        return found->second;
    }
    if (images_.size() >= limits::kDictionaryImagesMax) {
        return std::nullopt;
    }
    const auto number = static_cast<std::uint32_t>(images_.size());
    images_.emplace(ImageKey{definition, kernel}, number);
    return number;
}

std::optional<std::uint32_t> PartitionNodes::image_number(const EpochDictionary& epoch, ImageNumber image) {
    const std::optional<PartitionImageName> name = partition_image_name(epoch, image);
    if (!name) {
        return std::nullopt;
    }
    if (!name->kernel) {
        return image_numbered(name->definition, 0);
    }
    const std::optional<std::uint32_t> kernel = image_numbered(*name->kernel, 0);
    if (!kernel) {
        return std::nullopt;
    }
    const ImageDefinition& module = name->definition;
    const auto known = module_kernels_.try_emplace({module.name, module.build_id, module.address}, *kernel);
    return known.first->second == *kernel ? image_numbered(module, *kernel + 1) : std::nullopt;
}

bool PartitionNodes::add(const EpochDictionary& epoch) {
    if (epoch.stack_count() > limits::kDictionaryEpochNodesMax ||
        mapped_count_ + epoch.stack_count() > limits::kDictionaryMapNodesMax) {
        return false;
    }
    std::vector<std::uint32_t> images(epoch.image_count(), kUnknown);
    std::vector<std::uint32_t> nodes(std::max<std::size_t>(epoch.stack_count(), 1), 0);
    for (std::uint32_t number = 1; number < nodes.size(); ++number) {
        if (!epoch.has_stack(StackNumber{number})) {
            continue;
        }
        const StackNode& node = epoch.stack(StackNumber{number});
        const ImageNumber image = node.frame.image;
        if (!epoch.has_image(image) ||
            (node.parent != kEmptyStack && (node.parent.value >= number || nodes[node.parent.value] == 0))) {
            return false;
        }
        std::uint32_t& image_here = images[image.value];
        if (image_here == kUnknown) {
            image_here = image_number(epoch, image).value_or(kUnknown);
            if (image_here == kUnknown) {
                return false;
            }
        }
        nodes[number] = tree_.number_of(nodes[node.parent.value], image_here,
                                        partition_offset(epoch.image(image), node.frame.offset));
        if (nodes[number] == 0) {
            return false;
        }
    }
    mapped_count_ += nodes.size();
    maps_.push_back(std::move(nodes));
    return true;
}

// Callers have smaller numbers than their callees.
std::vector<bool> PartitionNodes::used_nodes() const {
    std::vector<bool> used(tree_.nodes().size() + 1, false);
    for (const std::vector<std::uint32_t>& map : maps_) {
        for (const std::uint32_t node : map) {
            used[node] = true;
        }
    }
    used[0] = false;
    return used;
}

// Orders the images of used nodes, and the kernels of used modules.
std::vector<std::uint32_t> PartitionNodes::order_images(const std::vector<bool>& used_nodes,
                                                        PartitionDictionary& dictionary) const {
    std::vector<bool> used(images_.size(), false);
    for (std::size_t i = 0; i < tree_.nodes().size(); ++i) {
        if (used_nodes[i + 1]) {
            used[tree_.nodes()[i].image] = true;
        }
    }
    for (const auto& [key, number] : images_) {
        if (key.second != 0 && used[number]) {
            used[key.second - 1] = true;
        }
    }
    std::vector<std::uint32_t> ranks(images_.size(), 0);
    std::vector<std::pair<PartitionDictionary::Image, std::uint32_t>> modules;
    for (const auto& [key, number] : images_) {
        if (used[number] && key.second == 0) {
            ranks[number] = static_cast<std::uint32_t>(dictionary.images.size());
            dictionary.images.push_back({key.first, 0});
        }
    }
    for (const auto& [key, number] : images_) {
        if (used[number] && key.second != 0) {
            modules.emplace_back(PartitionDictionary::Image{key.first, ranks[key.second - 1] + 1}, number);
        }
    }
    std::sort(modules.begin(), modules.end());
    for (const auto& [image, number] : modules) {
        ranks[number] = static_cast<std::uint32_t>(dictionary.images.size());
        dictionary.images.push_back(image);
    }
    return ranks;
}

// Orders nodes by (caller, image, offset), each after its caller. Pending nodes are on a stack, the next one on top.
std::vector<std::uint32_t> PartitionNodes::order_nodes(const std::vector<bool>& used_nodes,
                                                       const std::vector<std::uint32_t>& image_ranks,
                                                       PartitionDictionary& dictionary) const {
    const std::vector<FrameTree::Node>& nodes = tree_.nodes();
    std::vector<std::uint32_t> order;
    for (std::uint32_t number = 1; number <= nodes.size(); ++number) {
        if (used_nodes[number]) {
            order.push_back(number);
        }
    }
    const auto place = [&](std::uint32_t number) {
        const FrameTree::Node& node = nodes[number - 1];
        return std::tuple{node.parent, image_ranks[node.image], node.offset};
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
    std::vector<std::uint32_t> first_called(nodes.size() + 2, 0);  // by caller: index of its first callee in `order`
    for (const std::uint32_t number : order) {
        ++first_called[std::size_t{nodes[number - 1].parent} + 1];
    }
    std::partial_sum(first_called.begin(), first_called.end(), first_called.begin());
    std::vector<std::uint32_t> ranks(nodes.size() + 1, 0);
    std::vector<std::uint32_t> open;
    const auto open_callees = [&](std::uint32_t caller) {
        for (std::uint32_t at = first_called[std::size_t{caller} + 1]; at-- > first_called[caller];) {
            open.push_back(order[at]);
        }
    };
    dictionary.nodes.reserve(order.size());
    open_callees(0);
    while (!open.empty()) {
        const std::uint32_t number = open.back();
        open.pop_back();
        const FrameTree::Node& node = nodes[number - 1];
        dictionary.nodes.push_back({ranks[node.parent], image_ranks[node.image], node.offset});
        ranks[number] = static_cast<std::uint32_t>(dictionary.nodes.size());
        open_callees(number);
    }
    return ranks;
}

PartitionNodes::Made PartitionNodes::finish() && {
    Made made;
    const std::vector<bool> used = used_nodes();
    const std::vector<std::uint32_t> ranks = order_nodes(used, order_images(used, made.dictionary), made.dictionary);
    for (std::vector<std::uint32_t>& map : maps_) {
        std::transform(map.begin(), map.end(), map.begin(), [&](std::uint32_t node) { return ranks[node]; });
    }
    made.maps = std::move(maps_);
    return made;
}

}  // namespace perfleet
