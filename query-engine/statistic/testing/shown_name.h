// For tests: the name of a frame in a profile, one frame at a time.
#pragma once

#include <string>

#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

inline std::string shown_name(Symbolizer& symbolizer, const ImageDefinition& image, std::uint64_t offset,
                              bool each_address) {
    const Symbol symbol = symbolizer.resolve(image, offset);
    const std::string image_name = Symbolizer::image_display_name(image);
    if (each_address || symbol.name != Symbolizer::place_name(image_name, offset)) {
        return symbol.name;
    }
    return Symbolizer::nameless_text(image_name, symbol.function_offset);
}

}  // namespace perfleet
