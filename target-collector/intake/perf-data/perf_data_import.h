// Stores a perf.data file, or a folder of them, as a session of the perf that recorded it.
//
// Everything before a damaged place is imported. Memory: kHeldSizeBytesMax of records, a batch, and the session's
// tables.
#pragma once

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/intake/recording/recording_import.h"

namespace perfleet {

// Errors: kInvalid, kTruncated, kTooLarge, kUnsupported (naming the offset), kConflict, those of the store.
[[nodiscard]] Result<ImportedRecording> import_perf_data(RecordingFiles files, const RecordingImport& options,
                                                         SessionDestination& destination,
                                                         const ProgressReport& progress = {});

}  // namespace perfleet
