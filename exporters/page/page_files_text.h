// Files of dist/, as sources that CMake makes (page_text.cmake).
#pragma once

#include <string_view>

namespace perfleet {

extern const std::string_view kPageIndex;
extern const std::string_view kPageScript;
extern const std::string_view kPageStyle;

}  // namespace perfleet
