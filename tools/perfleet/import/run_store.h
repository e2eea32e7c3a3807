// Stores imported runs as a collector's batches are stored: as sealed messages.
//
// A run is a session. Its id is made from its content, its target and its time: importing the same run again adds
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/intake/session/session_writer.h"
#include "tools/perfleet/import/imported_run.h"

namespace perfleet {

struct ImportPlace {
    std::string target_name;
    std::string architecture;             // may be empty
    UtcNs time;                           // of the run
    std::string source;                   // the file's name, or the measured command, for the session's command line
    std::string_view command = "import";  // of perfleet, likewise
};

struct StoredRun {
    SessionId session;
    std::uint64_t row_count = 0;
    bool was_there = false;
};

// Durable when it returns, unless the destination defers that. Errors: kInvalid (its hour was dropped), kTooLarge
// (exceeds a limit of vocabulary/batch_limits.h); those of SessionWriter.
[[nodiscard]] Result<StoredRun> store_run(const ImportedRun& run, const ImportPlace& place,
                                          SessionDestination& destination);

}  // namespace perfleet
