// Names of frames, each resolved once over all epochs: numbers for (symbol, image) pairs.
//
// One thread. Borrows the symbolizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "query-engine/symbol/symbolizer.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/rollup/flat_table.h"

namespace perfleet {

// Texts and their numbers, from 0.
class TextNumbers {
public:
    TextNumbers() = default;
    TextNumbers(const TextNumbers&) = delete;
    TextNumbers& operator=(const TextNumbers&) = delete;

    std::uint32_t number_of(const std::string& text);
    // Stays where it is.
    [[nodiscard]] const std::string& text(std::uint32_t number) const { return *texts_[number]; }
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

private:
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<const std::string*> texts_;  // keys of numbers_
    std::size_t size_bytes_ = 0;             // of memory, about
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
    [[nodiscard]] FrameName name_of(StackNumber node) { return {symbol_of(node), image_of(node)}; }
    [[nodiscard]] std::uint32_t symbol_of(StackNumber node);
    [[nodiscard]] std::uint32_t image_of(StackNumber node);  // reads no ELF file

    [[nodiscard]] const TextNumbers& symbols() const { return symbols_; }
    [[nodiscard]] const TextNumbers& images() const { return images_; }
    [[nodiscard]] std::size_t size_bytes() const;  // of memory, about

private:
    // Offsets of one name, up to the key in KnownImage::ranges.
    struct SymbolRange {
        std::uint64_t first = 0;
        std::uint32_t symbol = 0;
    };
    struct KnownImage {
        ImageDefinition definition;
        std::uint32_t name = 0;
        std::map<std::uint64_t, SymbolRange> ranges;  // by their last offset
        FlatTable<std::uint32_t> numbers;             // by offset: 1 + the symbol's
    };
    using ImageKey = std::pair<std::string, std::string>;  // name; build-id, flags and place

    KnownImage& known(ImageNumber number);
    std::uint32_t resolved(KnownImage& image, std::uint64_t offset);

    Symbolizer& symbolizer_;
    TextNumbers symbols_;
    TextNumbers images_;
    std::map<ImageKey, KnownImage> known_images_;

    const EpochDictionary* dictionary_ = nullptr;
    std::vector<KnownImage*> epoch_images_;  // by number, those that are defined
    KnownImage* undefined_image_ = nullptr;
};

}  // namespace perfleet
