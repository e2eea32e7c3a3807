// The page without its data: page.html with the scripts and the style sheet in it. CMake writes their source
// (inline_page.cmake).
#pragma once

#include <string_view>

namespace perfleet {

extern const std::string_view kPageBeforeData;
extern const std::string_view kPageBehindData;

}  // namespace perfleet
