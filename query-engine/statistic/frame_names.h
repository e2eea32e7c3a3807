// Names of frames, each resolved once over all epochs: numbers for (symbol, image) pairs.
//
// One thread. Borrows the symbolizer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "query-engine/symbol/symbolizer.h"
#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

// Texts and their numbers, from 0.
class TextNumbers {
public:
    std::uint32_t number_of(const std::string& text);
    [[nodiscard]] const std::string& text(std::uint32_t number) const { return texts_[number]; }

private:
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<std::string> texts_;
};

struct FrameName {
    std::uint32_t symbol = 0;  // numbers of FrameNames::symbols() and images()
    std::uint32_t image = 0;
};

class FrameNames {
public:
    explicit FrameNames(Symbolizer& symbolizer) : symbolizer_{symbolizer} {}

    // The symbol and the image of each node's frame. Numbers are asked for by epoch: begin_epoch first.
    void begin_epoch(const EpochDictionary& dictionary);
    [[nodiscard]] FrameName name_of(StackNumber node);

    [[nodiscard]] const TextNumbers& symbols() const { return symbols_; }
    [[nodiscard]] const TextNumbers& images() const { return images_; }

private:
    struct KnownImage {
        ImageDefinition definition;
        std::uint32_t name = 0;
        std::unordered_map<std::uint64_t, std::uint32_t> symbols;  // by offset
    };
    using ImageKey = std::pair<std::string, std::string>;  // name; build-id, flags and place

    KnownImage& known(ImageNumber number);

    Symbolizer& symbolizer_;
    TextNumbers symbols_;
    TextNumbers images_;
    std::map<ImageKey, KnownImage> known_images_;

    const EpochDictionary* dictionary_ = nullptr;
    std::unordered_map<std::uint32_t, KnownImage*> epoch_images_;
};

}  // namespace perfleet
