// Puts a perf.data file, or a folder of them, into a store, as a session of the collector that perf was.
//
// Of a damaged file all that stands before the damage is imported. Memory: kHeldSizeBytesMax of records, a batch, and
// the tables of the session.
#pragma once

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "tools/perfleet/import/recording/recording_import.h"

namespace perfleet {

// Errors: kInvalid, kTruncated, kTooLarge, kUnsupported (with the place in the file), kConflict, those of the store.
[[nodiscard]] Result<ImportedRecording> import_perf_data(RecordingFiles files, const RecordingImport& options,
                                                         SessionDestination& destination,
                                                         const ProgressReport& progress = {});

}  // namespace perfleet
