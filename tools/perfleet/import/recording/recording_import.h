// What importers of other profilers' recordings (perf.data, pprof) have in common: each puts a file into a store, as a
// session of the collector that the profiler was.
//
// The session is named by the file's content and time, so that a file comes in once. What isn't understood is kept or
// named in a warning and counted.
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
    std::string target_name;     // empty: the host that the file names, else this one
    std::string architecture;    // empty: the file's
    std::optional<UtcNs> start;  // empty: what the file says, else so that it ended when it was written last
    std::vector<std::pair<std::string, std::string>> labels;
    std::string symfs;  // where the programs' files lie, to unwind copied stacks with; empty: where the file says
    UtcNs now;
};

struct ImportedRecording : StoredSession {
    std::uint64_t sample_count = 0;  // that were read
    std::vector<std::string> warnings;
};

// Samples whose call chains were cut at limits::kCallChainDepthMax frames.
[[nodiscard]] std::string cut_chains_warning(std::uint64_t sample_count);

// From the file's size, both its ends, and when its recording began.
[[nodiscard]] SessionId session_id_of(const FileBytes& file, UtcNs start);

}  // namespace perfleet
