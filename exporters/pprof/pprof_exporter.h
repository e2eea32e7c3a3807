// Writes what a scan selects as a pprof profile: profile.proto of github.com/google/pprof, compressed by gzip. For `go
// tool pprof`, Grafana, speedscope and other tools that read it.
//
// A sample is a call chain of a command (label `comm`) with a value for each event: its rows (`samples`, or
// `EVENT:samples` where there are several events) and, where the event has a unit, the sum of their weights (`EVENT`).
// Functions have the names that `top` shows; those without a symbol `[image+0xstart]`, or `[image]`. A location is an
// address in its image: an offset in the file for ELF files, else an address in memory. Comments tell what was lost,
// and all warnings. With `has_inlines` a location has a line of source for each function that was inlined there, the
// innermost first, and one for its own. Targets aren't told apart.
//
// A selection without samples gives a profile without samples, and a warning. Errors: kTooLarge when the query's memory
// is exceeded; those of store and sink.
#pragma once

#include "exporters/sink/export_sink.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/source_expansion.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

[[nodiscard]] Result<ExportOutcome> export_pprof(const Scan& scan, Symbolizer& symbolizer, const SourceOptions& options,
                                                 ExportSink& sink);

}  // namespace perfleet
