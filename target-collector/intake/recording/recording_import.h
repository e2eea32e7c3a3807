// Shared by the importers of other profilers' recordings (perf.data, pprof): each stores a file as a session of the
// profiler that recorded it.
//
// The session's id is made from the file's content and time, so that a file is imported once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/intake/recording/file_bytes.h"
#include "target-collector/intake/session/session_writer.h"
#include "target-collector/process/image_table.h"

namespace perfleet {

// Folders of this machine for files of the recorded programs (to unwind copied stacks) and for symbols of kernels.
struct ProgramFiles {
    // Paths in search order. Files are checked: they must exist and have the image's build-id. Empty: none are
    // searched.
    std::function<std::vector<std::string>(const Image&)> paths_of;
    std::string build_id_cache;  // perf's; empty: none
};

struct RecordingImport {
    std::string target_name;     // empty: the host in the file, else this one
    std::string architecture;    // empty: the file's
    std::optional<UtcNs> start;  // empty: as the file says, else so that it ended when the file was last written
    std::vector<std::pair<std::string, std::string>> labels;
    ProgramFiles files;
    UtcNs now;
};

struct ImportedRecording : StoredSession {
    std::uint64_t sample_count = 0;  // samples read
    std::vector<std::string> warnings;
};

// Samples whose call chains were cut at limits::kCallChainDepthMax frames.
[[nodiscard]] std::string cut_chains_warning(std::uint64_t sample_count);

// Adds a line of kallsyms, in the format of contents of images whose symbols come from an import.
void append_symbol(std::string& symbols, std::uint64_t offset, std::string_view name);

// From the file's size, its first and last bytes, and when its recording began.
[[nodiscard]] SessionId session_id_of(const FileBytes& file, UtcNs start);

}  // namespace perfleet
