// The HTML of a figure's page, page/dist/figure.html, in two parts; the data goes between them.
#pragma once

#include <string_view>

namespace perfleet {

extern const std::string_view kFigurePageBeforeData;
extern const std::string_view kFigurePageBehindData;

}  // namespace perfleet
