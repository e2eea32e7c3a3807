// A schedule as a figure: a lane for each CPU, a box for each run, coloured by thread.
//
// Pure functions.
#pragma once

#include "exporters/figure/figure.h"
#include "exporters/schedule/schedule.h"

namespace perfleet {

// A schedule without runs gives a sheet that says so. Only 64 lanes are drawn; the figure says how many are left out.
[[nodiscard]] Figure schedule_figure(const Schedule& schedule);

}  // namespace perfleet
