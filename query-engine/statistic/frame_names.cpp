#include "query-engine/statistic/frame_names.h"

namespace perfleet {

std::uint32_t TextNumbers::number_of(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) {
        texts_.push_back(text);
    }
    return entry->second;
}

void FrameNames::begin_epoch(const EpochDictionary& dictionary) {
    dictionary_ = &dictionary;
    epoch_images_.clear();
    symbolizer_.learn_kernel(dictionary);
}

FrameNames::KnownImage& FrameNames::known(ImageNumber number) {
    KnownImage*& cached = epoch_images_[number.value];
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

FrameName FrameNames::name_of(StackNumber node) {
    if (node == kEmptyStack) {
        return {symbols_.number_of("[unknown]"), images_.number_of("[unknown]")};
    }
    const Frame& frame = dictionary_->stack(node).frame;
    KnownImage& image = known(frame.image);
    const auto [entry, is_new] = image.symbols.try_emplace(frame.offset, 0);
    if (is_new) {
        entry->second = symbols_.number_of(symbolizer_.resolve(image.definition, frame.offset).name);
    }
    return {entry->second, image.name};
}

}  // namespace perfleet
