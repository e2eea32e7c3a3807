// A file of another profiler, perf.data or pprof, or of a benchmark program, recognised by its first bytes.
#pragma once

#include <string>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/intake/recording/file_bytes.h"
#include "target-collector/intake/recording/recording_import.h"

namespace perfleet {

inline constexpr const char* kPerfData = "perf.data";
inline constexpr const char* kPprof = "pprof";

struct RecordingFile {
    std::string path;  // "-": standard input
    std::string format;
    RecordingFiles files;
};

// `format`: empty to recognise it by the first bytes. Errors: kUsage (neither format), those of open_recording().
[[nodiscard]] Result<RecordingFile> open_recording_file(const std::string& path, const std::string& format);

// Stores the file, with a progress line; warnings follow on standard error. Errors: those of import_perf_data() and
// import_pprof().
[[nodiscard]] Result<ImportedRecording> import_recording_file(RecordingFile file, const RecordingImport& options,
                                                              SessionDestination& destination);

}  // namespace perfleet
