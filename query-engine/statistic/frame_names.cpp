#include "query-engine/statistic/frame_names.h"

namespace perfleet {
namespace {

constexpr std::size_t kShortTextSizeBytes = 15;  // stand in a std::string itself

}  // namespace

std::uint32_t TextNumbers::number_of(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) {
        texts_.push_back(&entry->first);
        constexpr std::size_t kEntrySizeBytes = sizeof(*entry) + 4 * sizeof(void*);
        size_bytes_ += kEntrySizeBytes + (text.capacity() > kShortTextSizeBytes ? text.size() : 0);
    }
    return entry->second;
}

void FrameNames::begin_epoch(const EpochDictionary& dictionary) {
    dictionary_ = &dictionary;
    epoch_images_.assign(dictionary.image_count(), nullptr);
    undefined_image_ = nullptr;
    symbolizer_.learn_kernel(dictionary);
}

FrameNames::KnownImage& FrameNames::known(ImageNumber number) {
    KnownImage*& cached = number.value < epoch_images_.size() ? epoch_images_[number.value] : undefined_image_;
    if (cached == nullptr) {
        const ImageDefinition& definition = dictionary_->image(number);
        const std::string identity = definition.build_id + '/' + std::to_string(definition.flags) + '/' +
                                     std::to_string(definition.address) + '/' + std::to_string(definition.size_bytes);
        KnownImage& image = known_images_[{definition.name, identity}];
        image.definition = definition;
        image.name = images_.number_of(Symbolizer::image_display_name(definition));
        cached = &image;
    }
    return *cached;
}

// A profile has far more offsets than symbols: the text is made once a symbol.
std::uint32_t FrameNames::resolved(KnownImage& image, std::uint64_t offset) {
    const auto known = image.ranges.lower_bound(offset);
    if (known != image.ranges.end() && known->second.first <= offset) {
        return known->second.symbol;
    }
    const Symbol symbol = symbolizer_.resolve(image.definition, offset);
    const std::uint32_t number = symbols_.number_of(symbol.name);
    if (symbol.resolved) {
        image.ranges[symbol.last] = {symbol.first, number};
    }
    return number;
}

std::uint32_t FrameNames::symbol_of(StackNumber node) {
    if (node == kEmptyStack) {
        return symbols_.number_of("[unknown]");
    }
    const Frame& frame = dictionary_->stack(node).frame;
    KnownImage& image = known(frame.image);
    std::uint32_t& number = image.numbers[frame.offset];
    if (number == 0) {
        number = resolved(image, frame.offset) + 1;
    }
    return number - 1;
}

std::uint32_t FrameNames::image_of(StackNumber node) {
    return node == kEmptyStack ? images_.number_of("[unknown]") : known(dictionary_->stack(node).frame.image).name;
}

std::size_t FrameNames::size_bytes() const {
    std::size_t size_bytes = symbols_.size_bytes() + images_.size_bytes();
    for (const auto& [key, image] : known_images_) {
        constexpr std::size_t kRangeSizeBytes = sizeof(*image.ranges.begin()) + 4 * sizeof(void*);
        size_bytes += sizeof(image) + image.ranges.size() * kRangeSizeBytes + image.numbers.size_bytes();
    }
    return size_bytes;
}

}  // namespace perfleet
