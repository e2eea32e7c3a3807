// Puts a profile of pprof's format into a store, as a session of the collector that the profiler was.
//
// An event for each type of values. Where one of them counts what the other one weighs (`samples/count` beside
// `cpu/nanoseconds`, as CPU profiles have), they are one event, with a row for each that was counted, up to
// kRowsOfSampleMax; else a sample is one row of its value's weight. The format keeps no times: all rows have that of
// the profile. Functions are named by the profile alone, by the symbols of an image that is made for each mapping; a
// location without a function keeps its file's build-id and its place in it.
//
// A label `comm`, `thread`, `process` or `pid` names the thread; else the first mapping's file does. Other labels and
// the numbers of lines are counted in a warning.
#pragma once

#include "schemas/vocabulary/error.h"
#include "tools/perfleet/import/recording/recording_import.h"

namespace perfleet {

// Errors: those of PprofProfile::read(), kInvalid (no types of values, too many), kConflict, those of the store.
[[nodiscard]] Result<ImportedRecording> import_pprof(const FileBytes& file, const RecordingImport& options,
                                                     SessionDestination& destination);

}  // namespace perfleet
