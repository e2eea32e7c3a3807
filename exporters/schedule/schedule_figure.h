// A schedule as a figure: a lane a CPU, a box a run, coloured by thread.
//
// Pure functions.
#pragma once

#include "exporters/figure/figure.h"
#include "exporters/schedule/schedule.h"

namespace perfleet {

// Of a schedule without runs: a sheet that says so. Lanes beyond the 64th are left out, which the figure says.
[[nodiscard]] Figure schedule_figure(const Schedule& schedule);

}  // namespace perfleet
