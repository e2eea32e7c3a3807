// The images of an export: one number for each distinct image of all sessions and epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

using ExportedImage = std::uint32_t;

class ExportedImages {
public:
    enum class Place : std::uint8_t {
        kProcess,    // at its mapping in the process
        kAnonymous,  // at its own address, where it begins
        kKernel,     // at its own address, in the kernel
        kUnknown,    // outside any mapping
    };

    [[nodiscard]] ExportedImage add(const ImageDefinition& definition);

    [[nodiscard]] const ImageDefinition& definition(ExportedImage image) const { return images_[image].definition; }
    [[nodiscard]] Place place(ExportedImage image) const { return images_[image].place; }
    [[nodiscard]] std::size_t count() const { return images_.size(); }

    // Empty if there is none, or only a content hash.
    [[nodiscard]] const std::string& build_id(ExportedImage image) const { return images_[image].build_id; }

private:
    struct Image {
        ImageDefinition definition;
        std::string build_id;
        Place place{};
    };
    std::vector<Image> images_;
    std::unordered_map<std::string, ExportedImage> numbers_;
};

}  // namespace perfleet
