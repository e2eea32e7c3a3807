// A schedule as an HTML page without network access. Its data, beside that of every figure (figure/figure_page.h):
//
//   "schedule":{"start":…, "duration_ns":n, "sampled":bool,
//     "threads":{"name":[…],"running_ns":[…],"runs":[…],"longest_ns":[…],"preempted":[…]},
//     "lanes":[{"name":…,"busy_ns":n,"begin":[…],"length":[…],"thread":[…],"preempted":[0|1],"runs":[…]}]}
//
// `begin` holds differences to the span before; thread -1: several.
#pragma once

#include <string>
#include <vector>

#include "exporters/figure/figure_page.h"
#include "exporters/schedule/schedule.h"
#include "query-engine/ledger/ledger.h"

namespace perfleet {

// `origin`: which session it is, for the title.
[[nodiscard]] FigurePage schedule_page(const Schedule& schedule, const Ledger& ledger,
                                       const std::vector<std::string>& warnings, const std::string& origin = {});

}  // namespace perfleet
