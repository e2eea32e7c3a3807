// A flame graph as a figure, for documents: the frames of all time, callers below.
//
// A pure function: the same graph gives the same figure.
#pragma once

#include "exporters/figure/figure.h"
#include "exporters/html/page_data.h"

namespace perfleet {

// Frames narrower than a third of a pixel are left out. Of a comparison only the selection itself is drawn.
[[nodiscard]] Figure flame_figure(const PageData& data);

}  // namespace perfleet
