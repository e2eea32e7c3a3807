// Puts a perf.data file into a store, as a session of the collector that perf was.
//
// The session is named by the file's content and time, so that a file comes in once. What isn't understood is kept or
// named in a warning and counted; of a damaged file all that stands before the damage is imported.
// Memory: kHeldSizeBytesMax of records, a batch, and the tables of the session.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/progress.h"
#include "schemas/vocabulary/time.h"
#include "storage/store/store.h"
#include "tools/perfleet/import/perf-data/file_bytes.h"
#include "tools/perfleet/import/session_writer.h"

namespace perfleet {

struct PerfDataImport {
    std::string target_name;     // empty: the host that the file names
    std::string architecture;    // empty: the file's
    std::optional<UtcNs> start;  // empty: what the file says, else so that it ended when it was written last
    std::vector<std::pair<std::string, std::string>> labels;
    std::string symfs;  // where the programs' files lie, to unwind copied stacks with; empty: where the file says
    UtcNs now;
};

struct ImportedPerfData : StoredSession {
    std::uint64_t sample_count = 0;  // PERF_RECORD_SAMPLE read
    std::vector<std::string> warnings;
};

// Errors: kInvalid, kTruncated, kTooLarge, kUnsupported (with the place in the file), kConflict, those of the store.
[[nodiscard]] Result<ImportedPerfData> import_perf_data(FileBytes file, const PerfDataImport& options, Store& store,
                                                        const ProgressReport& progress = {});

}  // namespace perfleet
