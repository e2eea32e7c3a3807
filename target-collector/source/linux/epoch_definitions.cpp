#include "target-collector/source/linux/epoch_definitions.h"

#include <array>
#include <cstddef>
#include <span>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kind.h"

namespace perfleet {
namespace {

constexpr Series kStrings{Kind::kString, kNoEvent};
constexpr Series kImages{Kind::kImage, kNoEvent};
constexpr Series kStacks{Kind::kStack, kNoEvent};

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

}  // namespace

EpochDefinitions::EpochDefinitions(RowSink& sink, const ImageTable& images, std::uint32_t stack_node_count_max)
    : sink_{sink}, images_{images}, nodes_{stack_node_count_max} {}

std::optional<StringNumber> EpochDefinitions::string(std::string_view text, Ticks now) {
    std::string key{name_in(text)};
    if (key.empty()) {
        return kEmptyString;
    }
    if (const auto found = strings_.find(key); found != strings_.end()) {
        return found->second;
    }
    if (strings_.size() == limits::kStringsMax) {
        return std::nullopt;
    }
    const StringNumber number{static_cast<std::uint32_t>(strings_.size()) + 1};
    const std::array<std::uint64_t, 2> integers{number.value, key.size()};
    const std::array bytes{bytes_of(key)};
    sink_.append(kStrings, now, integers, bytes);
    strings_.emplace(std::move(key), number);
    return number;
}

std::optional<ImageNumber> EpochDefinitions::image(ImageIndex index, Ticks now) {
    if (index >= image_numbers_.size()) {
        image_numbers_.resize(images_.place_count(), kUndefined);
    }
    std::uint32_t& number = image_numbers_[index];
    if (number == kUndefined) {
        if (image_count_ == limits::kImagesMax) {
            return std::nullopt;
        }
        number = image_count_++;
        const Image& image = images_.at(index);
        const std::array<std::uint64_t, 6> integers{
            number, image.flags, image.address, image.size, image.content.size_bytes, image.name.size()};
        const std::array bytes{image.content.view(), bytes_of(image.name)};
        sink_.append(kImages, now, integers, bytes);
    }
    return ImageNumber{number};
}

std::optional<StackNumber> EpochDefinitions::stack_node(StackNumber parent, ImageNumber image, std::uint64_t offset,
                                                        Ticks now) {
    const auto found = nodes_.intern({offset, parent, image});
    if (!found) {
        return std::nullopt;
    }
    if (found->is_new) {
        const std::array<std::uint64_t, 4> integers{found->number.value, parent.value, image.value, offset};
        sink_.append(kStacks, now, integers, {});
    }
    return found->number;
}

void EpochDefinitions::clear() {
    strings_.clear();
    image_numbers_.assign(image_numbers_.size(), kUndefined);
    image_count_ = 0;
    nodes_.clear();
}

}  // namespace perfleet
