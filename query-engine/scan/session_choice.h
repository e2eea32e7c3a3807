// Which sessions of a store a selection is about, and what `--session` names: a given name, the first digits of an id,
// `last`, `last~1`.
#pragma once

#include <cstddef>
#include <map>
#include <string>

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

// Those that `filter` takes (null: all), one record in memory at a time and large ones without their large texts: a
// store may have more than fit into memory. Errors: those of the store; that the query's memory (or null) is exceeded.
[[nodiscard]] Result<NotedSessions> noted_sessions(const StoreReader& store, const SessionFilter* filter = nullptr,
                                                   QueryMemory* memory = nullptr);

// Reads the large texts of all these. Errors: as above.
[[nodiscard]] Result<Done> complete_records(const StoreReader& store, NotedSessions& sessions, QueryMemory& memory);

// About what the records take.
[[nodiscard]] std::size_t size_bytes_of(const NotedSessions& sessions);

// Leaves the one that `wanted` names, or all where it is empty. `last` is the one
// that was received last, or imported; so it is of several with the same given name. Removed ones can't be named.
// Errors: kNotFound, kUsage.
[[nodiscard]] Result<Done> choose_session(const std::string& wanted, NotedSessions& sessions);

}  // namespace perfleet
