// Writes what a scan selects as JSON for speedscope (https://www.speedscope.app/file-format-schema.json).
//
// Each event and thread has a profile of type "sampled", named `EVENT COMMAND PID/TID`. Of an event that is measured in
// ns a sample lasts as long as its weight and ends at its time; between samples stands one without frames. Of other
// events each sample has weight 1. A frame's `file` is its image.
//
// Errors: kTooLarge when the query's memory is exceeded; those of store and sink.
#pragma once

#include "exporters/timeline/timeline.h"

namespace perfleet {

[[nodiscard]] Result<ExportOutcome> export_speedscope(const Scan& scan, Symbolizer& symbolizer, ExportSink& sink);

}  // namespace perfleet
