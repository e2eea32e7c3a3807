// Which sessions of a store a selection is about, and what `--session` names: a given name, the first digits of an id,
// `last`, `last~1`.
#pragma once

#include <map>
#include <string>

#include "query-engine/select/selection.h"
#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"

namespace perfleet {

struct NotedSession {
    SessionRecord record;
    SessionNote note;
};
using NotedSessions = std::map<SessionName, NotedSession>;

// Errors: those of the store.
[[nodiscard]] Result<NotedSessions> noted_sessions(const StoreReader& store);

// Leaves the one that `wanted` names, or all where it is empty. Of several with the same given name that is the one
// that began last. Removed ones can't be named. Errors: kNotFound, kUsage.
[[nodiscard]] Result<Done> choose_session(const std::string& wanted, NotedSessions& sessions);

}  // namespace perfleet
