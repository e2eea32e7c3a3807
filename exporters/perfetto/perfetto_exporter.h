// Writes what a scan selects as trace events in JSON, for ui.perfetto.dev and Chrome's about:tracing.
//
// Samples stand in `samples` with their call chains in `stackFrames`; entries of tracepoints are instants of their
// thread, with what `perf script` prints of them; sched:sched_switch also makes the slices of each CPU. Times are us of
// the export's clock. The pids of several targets are kept apart by kPidsOfTarget; process names have the target's.
//
// Errors: kTooLarge when the query's memory is exceeded; those of store and sink.
#pragma once

#include "exporters/timeline/timeline.h"

namespace perfleet {

inline constexpr std::uint64_t kPidsOfTarget = 1U << 22U;  // Linux has no greater pid

[[nodiscard]] Result<ExportOutcome> export_perfetto(const Scan& scan, Symbolizer& symbolizer, ExportSink& sink);

}  // namespace perfleet
