// Writes what a scan selects as collapsed stacks, one line a call chain: what flame graph tools read.
//
//   command;outermost;…;innermost count
//
// Lines ascend by their bytes; each chain stands once. In names a `;` becomes `:`, and control characters and bytes
// that aren't UTF-8 are escaped. The event is chosen as in `top`. A selection without samples gives an empty text
// and a warning. Errors: those of the store. Of the options `has_inlines` is used.
#pragma once

#include "exporters/sink/export_sink.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/source_expansion.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

[[nodiscard]] Result<ExportOutcome> export_folded(const Scan& scan, Symbolizer& symbolizer,
                                                  const SourceOptions& options, ExportSink& sink);

}  // namespace perfleet
