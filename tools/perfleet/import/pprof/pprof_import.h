// Stores a profile of pprof's format as a session of the profiler that recorded it.
//
// Each type of values is an event. If one type counts what another one weighs (`samples/count` beside
// `cpu/nanoseconds`, as in CPU profiles), both are one event, with a row for each count, up to kRowsOfSampleMax;
// otherwise a sample is one row with its value as weight. The format has no times: all rows have the profile's time.
// Functions get only the profile's names, as symbols of an image made for each mapping; a location without a function
// keeps its file's build-id and offset.
//
// A label `comm`, `thread`, `process` or `pid` names the thread, else the first mapping's file. Other labels and line
// numbers are only counted in a warning.
#pragma once

#include "schemas/vocabulary/error.h"
#include "tools/perfleet/import/recording/recording_import.h"

namespace perfleet {

// Errors: those of PprofProfile::read(), kInvalid (no types of values, too many), kConflict, those of the store.
[[nodiscard]] Result<ImportedRecording> import_pprof(const FileBytes& file, const RecordingImport& options,
                                                     SessionDestination& destination);

}  // namespace perfleet
