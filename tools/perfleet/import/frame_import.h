// Stores a session from a file of frames (perfleet-collector --output, a target's file sink), as if its frames had come
// over a wire.
//
// A session with an id keeps it. A session without one (protocol::kSessionGivenAtImport) gets an id made from its Hello
// and first batch: importing the same file again adds nothing, and a file that has grown is continued. A second run of
// a target without entropy may begin with the same bytes; `fresh_session` makes it a separate session. Without it
// nothing is overwritten: different content is a conflict.
#pragma once

#include <optional>
#include <string>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "storage/store/store.h"
#include "target-collector/intake/session/session_writer.h"

namespace perfleet {

struct ImportedFrames : StoredSession {
    bool is_given = false;                 // the import gave the session its id
    std::optional<std::string> cut_short;  // the place where the file ends inside a frame
};

// Durable when it returns; after an error, earlier frames may be stored, and another import continues. `fresh_session`:
// only for a file whose session gets its id here. Errors: those of FrameFile, but a truncated file is imported up to
// its end; kUsage (`fresh_session`, but the session has an id), kInvalid, kCorrupt, … (a frame, by its number),
// kConflict (the store has another batch of that session and number), those of the store.
[[nodiscard]] Result<ImportedFrames> import_frames(const std::string& path, std::optional<SessionId> fresh_session,
                                                   UtcNs now, Store& store, const ProgressReport& progress = {});

}  // namespace perfleet
