// For tests: what a profile calls a frame, one frame at a time.
#pragma once

#include <string>

#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

inline std::string shown_name(Symbolizer& symbolizer, const ImageDefinition& image, std::uint64_t offset,
                              bool each_address) {
    const std::string name = symbolizer.resolve(image, offset).name;
    const std::string image_name = Symbolizer::image_display_name(image);
    if (each_address || name != Symbolizer::place_name(image_name, offset)) {
        return name;
    }
    return image_name.front() == '[' ? image_name : "[" + image_name + "]";
}

}  // namespace perfleet
