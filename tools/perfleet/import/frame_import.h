// Puts a session that was kept in a file of frames (perfleet-collector --output, a target's file sink) into a store, as
// if its frames had come over a wire.
//
// A session that has an id keeps it. One that nobody could grant an id (protocol::kSessionGivenAtImport) is given one:
// it is made from the Hello and the first batch, so that a file comes in once, however often it is imported, and one
// that has grown meanwhile goes on. A second run of a target without entropy may begin with the same bytes;
// `fresh_session` makes it a session of its own. Without it nothing is written over: what differs is a conflict.
#pragma once

#include <optional>
#include <string>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "storage/store/store.h"
#include "tools/perfleet/import/session/session_writer.h"

namespace perfleet {

struct ImportedFrames : StoredSession {
    bool is_given = false;                 // the session's id, by this import
    std::optional<std::string> cut_short;  // where the file ends within a frame
};

// Durable when it returns; after an error what came before it may be there, and another import goes on.
// `fresh_session`: for a file whose session is given here. Errors: FrameFile's, but that a file which was cut short is
// imported up to there; kUsage (`fresh_session`, but the session has an id), kInvalid, kCorrupt, … (a frame, by its
// number), kConflict (the store has another batch of that session and number), those of the store.
[[nodiscard]] Result<ImportedFrames> import_frames(const std::string& path, std::optional<SessionId> fresh_session,
                                                   UtcNs now, Store& store, const ProgressReport& progress = {});

}  // namespace perfleet
