// A file of another profiler, perf.data or pprof, known by its first bytes.
#pragma once

#include <string>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "tools/perfleet/import/recording/file_bytes.h"
#include "tools/perfleet/import/recording/recording_import.h"

namespace perfleet {

inline constexpr const char* kPerfData = "perf.data";
inline constexpr const char* kPprof = "pprof";

struct RecordingFile {
    std::string path;  // "-": standard input
    std::string format;
    RecordingFiles files;
};

// `format` is empty where the first bytes say it. Errors: kUsage (neither of the two), those of open_recording().
[[nodiscard]] Result<RecordingFile> open_recording_file(const std::string& path, const std::string& format);

// Stored, with a line that says how far it is; warnings are on standard error afterwards. Errors: those of
// import_perf_data() and import_pprof().
[[nodiscard]] Result<ImportedRecording> import_recording_file(RecordingFile file, const RecordingImport& options,
                                                              SessionDestination& destination);

}  // namespace perfleet
