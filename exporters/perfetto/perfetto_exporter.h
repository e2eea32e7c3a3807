// Writes what a scan selects as a trace of Perfetto, for ui.perfetto.dev and trace_processor, compressed by gzip.
//
// Each event is a session of samples with their call chains; its counter adds up the weights of each CPU. Entries of
// tracepoints are instants on their thread's track, with what `perf script` prints of them; sched:sched_switch makes
// the slices of CPUs and threads. Times are those of the export's clock, with one snapshot of UTC. Several targets keep
// their pids apart by kPidsOfTarget, their CPUs stand behind one another; process names have the target's.
//
// Errors: kTooLarge when the query's memory is exceeded; those of store and sink.
#pragma once

#include "exporters/timeline/timeline.h"

namespace perfleet {

inline constexpr std::uint32_t kPidsOfTarget = 1U << 22U;  // Linux has no greater pid

[[nodiscard]] Result<ExportOutcome> export_perfetto(const Scan& scan, Symbolizer& symbolizer, ExportSink& sink);

}  // namespace perfleet
