// Writes the selected samples of imported profiles as the profiles had them: their types of values in order, each
// sample by itself with its values, labels and locations, and all attributes of the profiles.
//
// A sample is the rows of one time of a session; a type without a row of it has 0. Locations, functions and mappings
// come from the profile that the import kept without its samples (profile_frames.h). `system_name` is left out where it
// repeats a name that no linker made: pprof would simplify it. Several profiles are written one after the other, with
// one list of types; then period, default type and the like are those of the first that has any, and the time is that
// from the first profile's beginning to the last one's end. One comment is added.
#pragma once

#include <optional>

#include "query-engine/scan/scan.h"
#include "query-engine/service/query.h"

namespace perfleet {

// Nothing, and nothing is written, if the selection has other sessions, too, or none, or a profile isn't in the store.
// Errors: kTooLarge (the query's memory is exceeded), those of store and sink.
[[nodiscard]] Result<std::optional<QueryEnd>> write_imported_profiles(const Scan& scan, ExportSink& sink);

}  // namespace perfleet
