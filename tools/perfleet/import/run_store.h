// Puts imported runs into a store the way a collector's batches come in: sealed messages, through the gateway's
// control_server.
//
// A run is a session. Its id is made from its content, its target and its time: the same run comes in once, however
// often it is imported.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/store/store.h"
#include "tools/perfleet/import/imported_run.h"

namespace perfleet {

struct ImportPlace {
    std::string target_name;
    std::string architecture;  // may be empty
    UtcNs time;                // of the run
    std::string source;        // the file's name, for the session's command line
};

struct StoredRun {
    SessionId session;
    std::uint64_t row_count = 0;
    bool was_there = false;
};

// Durable when it returns. Errors: kInvalid or kTooLarge (past a limit of vocabulary/batch_limits.h, in words), those
// of the store, kExpired-like refusals as kInvalid.
[[nodiscard]] Result<StoredRun> store_run(const ImportedRun& run, const ImportPlace& place, Store& store);

}  // namespace perfleet
