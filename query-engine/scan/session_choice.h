// Chooses the sessions of a selection, and the one that `--session` names: a given name, the first digits of an id,
// `last`, `last~1`.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "query-engine/scan/query_memory.h"
#include "query-engine/select/selection.h"
#include "schemas/vocabulary/error.h"
#include "storage/read/reader.h"
#include "storage/select/matcher.h"

namespace perfleet {

struct NotedSession {
    SessionRecord record;
    SessionNote note;
    bool is_brief = false;  // large texts of the record, such as formats of tracepoints, were left out
};
using NotedSessions = std::map<SessionName, NotedSession>;

// The sessions that `filter` accepts (null: all). Reads one record at a time and skips large texts, because the records
// of a store may not fit into memory. Errors: those of the store; kTooLarge when `memory` (null: unlimited) is
// exceeded.
[[nodiscard]] Result<NotedSessions> noted_sessions(const StoreReader& store, const SessionFilter* filter = nullptr,
                                                   QueryMemory* memory = nullptr);

// Reads the large texts that noted_sessions() skipped. Errors: as above.
[[nodiscard]] Result<Done> complete_records(const StoreReader& store, NotedSessions& sessions, QueryMemory& memory);

// Approximate memory of the records, in bytes.
[[nodiscard]] std::size_t size_bytes_of(const NotedSessions& sessions);

// Whether the session was recorded for this use.
[[nodiscard]] bool serves(const SessionRecord& record, SessionUse use);

// `last` or `last~N`.
[[nodiscard]] bool is_from_last(std::string_view wanted);

// Keeps only the session that `wanted` names, or all if it is empty. `last` is the session of this use that was
// received or imported last; among several with the same given name, the last one is meant. Removed sessions can't be
// named. Returns how many newer sessions of other uses `last` has skipped. Errors: kNotFound, kUsage.
[[nodiscard]] Result<std::size_t> choose_session(const std::string& wanted, NotedSessions& sessions,
                                                 SessionUse use = SessionUse::kAny);

// The newest session that recorded the event, as `--session` takes it: the digits of its id that no other one begins
// with. Empty if there is none.
[[nodiscard]] std::string newest_with_event(const NotedSessions& sessions, std::string_view event);

}  // namespace perfleet
