// The text of the page of a figure, made by html/inline_page.cmake. The data stands between both.
#pragma once

#include <string_view>

namespace perfleet {

extern const std::string_view kFigurePageBeforeData;
extern const std::string_view kFigurePageBehindData;

}  // namespace perfleet
