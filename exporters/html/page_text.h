// The HTML page without its data: page/dist/flame.html as a source that CMake makes (page/page_text.cmake).
#pragma once

#include <string_view>

namespace perfleet {

extern const std::string_view kPageBeforeData;
extern const std::string_view kPageBehindData;

}  // namespace perfleet
