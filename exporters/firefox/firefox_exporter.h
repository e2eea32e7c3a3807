// Writes what a scan selects for the Firefox Profiler (profiler.firefox.com): its processed format, version 48, JSON
// compressed by gzip.
//
// Each event and thread is a thread of the profile; times are relative to the first row's. Entries of tracepoints are
// markers of their thread, too. Frames have the category Kernel or User, and their image as the function's file.
//
// Errors: kTooLarge when the query's memory is exceeded; those of store and sink.
#pragma once

#include "exporters/timeline/timeline.h"

namespace perfleet {

[[nodiscard]] Result<ExportOutcome> export_firefox(const Scan& scan, Symbolizer& symbolizer, ExportSink& sink);

}  // namespace perfleet
