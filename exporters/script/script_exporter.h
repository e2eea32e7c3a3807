// Samples and tracepoints one by one in the order of time, as `perf script` prints them: the thread, the time, the
// event, where it was, and below it the call chain. Or as JSON, an object a line.
//
// What is read stays bounded, whatever the number of rows; nothing is held back for the end. Names from targets have
// their control characters escaped.
#pragma once

#include "exporters/script/script_options.h"
#include "exporters/sink/export_sink.h"
#include "query-engine/scan/scan.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// Rows of several targets have their target's name first; their times are on the clock of the session that began first.
// Errors: kNotFound when the selection holds no samples and no tracepoints; those of store and sink.
[[nodiscard]] Result<ExportOutcome> export_script(const Scan& scan, Symbolizer& symbolizer,
                                                  const ScriptOptions& options, ExportSink& sink);

}  // namespace perfleet
