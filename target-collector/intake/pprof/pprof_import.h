// Stores a profile of pprof's format as a session of the profiler that recorded it, so that an export writes it again
// without loss (exporters/pprof/imported_profiles.h).
//
//   a type of values   an event: the default type first, the others in the profile's order. Of one name: `cpu#2`
//   a sample's value   a row of the type's event. kWeight is the value, signed (has_imported_values()), in the event's
//                      unit. Values of 0 have no row, unless all of the sample are: then the default type has one of 0
//   how many samples   kValue of rows of kind `detailed_sample`, where the profile says it (sample_numbers.h)
//   a sample           the rows of one time: the format has no times, so sample N is N ns after the profile's time
//   labels             kRawBytes of each row of the sample, which is of that kind then, too. `thread`, `tid`,
//                      `pid`, and `comm`, as perfleet's own exports have it, say who ran; else the first mapping's file
//   a location         frames of images (schemas/pprof/profile_frames.h). Functions have the profile's names alone, as
//                      symbols of an image made for their mapping; a location without functions keeps its file's
//                      build-id and offset
//   all but samples    the content of an image that each epoch names (kProfileImage)
//
// Call chains of more frames than limits::kCallChainDepthMax are cut, which is counted and marked.
#pragma once

#include "schemas/vocabulary/error.h"
#include "target-collector/intake/recording/recording_import.h"

namespace perfleet {

// Errors: those of PprofProfile::read(), kInvalid (no types of values), kTooLarge (too many types or mappings),
// kConflict, those of the store.
[[nodiscard]] Result<ImportedRecording> import_pprof(const FileBytes& file, const RecordingImport& options,
                                                     SessionDestination& destination);

}  // namespace perfleet
