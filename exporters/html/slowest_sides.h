// Counts for a page of the slowest operations: their samples are one side, those of all other operations the other.
#pragma once

#include "exporters/html/flame_graph.h"
#include "exporters/html/html_options.h"
#include "exporters/html/page_data.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/source_expansion.h"

namespace perfleet {

// Slices of the other operations are numbered from `slices.count` on. Errors: those of find_operations() and
// visit_operation_samples().
[[nodiscard]] Result<Done> count_slowest(const Scan& scan, const Measure& measure, const HtmlOptions& options,
                                         const TimeSlices& slices, SourceExpansion& expansion, FlameGraphMaker& maker);

}  // namespace perfleet
