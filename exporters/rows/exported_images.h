// The images of an export, over all sessions and epochs: each distinct one has one number.
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
        kProcess,    // where the process has mapped it
        kAnonymous,  // where it begins is its own address
        kKernel,     // likewise, in the kernel
        kUnknown,    // outside any mapping
    };

    [[nodiscard]] ExportedImage add(const ImageDefinition& definition);

    [[nodiscard]] const ImageDefinition& definition(ExportedImage image) const { return images_[image].definition; }
    [[nodiscard]] Place place(ExportedImage image) const { return images_[image].place; }
    [[nodiscard]] std::size_t count() const { return images_.size(); }

    // Empty for none, and for a hash of the content.
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
