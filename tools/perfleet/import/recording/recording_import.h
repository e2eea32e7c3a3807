// Shared by the importers of other profilers' recordings (perf.data, pprof): each stores a file as a session of the
// profiler that recorded it.
//
// The session's id is made from the file's content and time, so that a file is imported once. Unknown parts are kept,
// or counted and named in a warning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"
#include "tools/perfleet/import/recording/file_bytes.h"
#include "tools/perfleet/import/session/session_writer.h"

namespace perfleet {

struct RecordingImport {
    std::string target_name;     // empty: the host in the file, else this one
    std::string architecture;    // empty: the file's
    std::optional<UtcNs> start;  // empty: as the file says, else so that it ended when the file was last written
    std::vector<std::pair<std::string, std::string>> labels;
    std::string symfs;  // folder of the programs' files, for unwinding copied stacks; empty: their recorded paths
    UtcNs now;
};

struct ImportedRecording : StoredSession {
    std::uint64_t sample_count = 0;  // samples read
    std::vector<std::string> warnings;
};

// Samples whose call chains were cut at limits::kCallChainDepthMax frames.
[[nodiscard]] std::string cut_chains_warning(std::uint64_t sample_count);

// From the file's size, its first and last bytes, and when its recording began.
[[nodiscard]] SessionId session_id_of(const FileBytes& file, UtcNs start);

}  // namespace perfleet
