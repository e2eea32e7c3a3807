#include "target-collector/process/epoch_definitions.h"

#include <array>
#include <cstddef>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/named_row.h"
#include "schemas/vocabulary/series.h"

namespace perfleet {
namespace {

using enum ColumnId;

constexpr Series kStrings{Kind::kString, kNoEvent};
constexpr Series kImages{Kind::kImage, kNoEvent};
constexpr Series kStacks{Kind::kStack, kNoEvent};

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

}  // namespace

EpochDefinitions::EpochDefinitions(RowSink& sink, const ImageTable& images, std::uint32_t stack_node_count_max,
                                   std::function<void()> define_present)
    : sink_{sink}, images_{images}, nodes_{stack_node_count_max}, define_present_{std::move(define_present)} {}

void EpochDefinitions::begin_epoch(Ticks now) {
    sink_.begin_epoch(now);
    strings_.clear();
    image_numbers_.assign(image_numbers_.size(), kUndefined);
    image_count_ = 0;
    nodes_.clear();
    is_beginning_ = true;
    define_present_();
    is_beginning_ = false;
}

template <class Try>
auto EpochDefinitions::with_room(Try define, Ticks now) {
    auto number = define();
    if (!number && !is_beginning_) {
        begin_epoch(now);
        number = define();
    }
    return number.value_or(typename decltype(number)::value_type{});
}

StringNumber EpochDefinitions::string(std::string_view text, Ticks now) {
    return with_room([&] { return try_string(text, now); }, now);
}

ImageNumber EpochDefinitions::image(ImageIndex index, Ticks now) {
    return with_room([&] { return try_image(index, now); }, now);
}

StackNumber EpochDefinitions::stack(std::span<const ResolvedFrame> frames, Ticks now) {
    return with_room([&] { return try_stack(frames, now); }, now);
}

std::optional<StringNumber> EpochDefinitions::try_string(std::string_view text, Ticks now) {
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
    const auto integers = row_of<Kind::kString>(column<kNumber>(number.value), column<kNameSize>(key.size()));
    const std::array bytes{bytes_of(key)};
    sink_.append({kStrings, now, integers, bytes});
    strings_.emplace(std::move(key), number);
    return number;
}

std::optional<ImageNumber> EpochDefinitions::try_image(ImageIndex index, Ticks now) {
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
        const auto integers =
            row_of<Kind::kImage>(column<kNumber>(number), column<kImageFlags>(image.flags),
                                 column<kAddress>(image.address), column<kSize>(image.size),
                                 column<kBuildIdSize>(image.content.size_bytes), column<kNameSize>(image.name.size()));
        const std::array bytes{image.content.view(), bytes_of(image.name)};
        sink_.append({kImages, now, integers, bytes});
    }
    return ImageNumber{number};
}

std::optional<StackNumber> EpochDefinitions::try_stack(std::span<const ResolvedFrame> frames, Ticks now) {
    StackNumber node = kEmptyStack;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        const auto image = try_image(frame->image, now);
        const auto found = image ? nodes_.intern({frame->offset, node, *image}) : std::nullopt;
        if (!found) {
            return std::nullopt;
        }
        if (found->is_new) {
            const auto integers =
                row_of<Kind::kStack>(column<kNumber>(found->number.value), column<kParent>(node.value),
                                     column<kImage>(image->value), column<kFrameOffset>(frame->offset));
            sink_.append({kStacks, now, integers});
        }
        node = found->number;
    }
    return node;
}

}  // namespace perfleet
