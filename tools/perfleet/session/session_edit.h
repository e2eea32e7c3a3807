// Changes sessions of a store: directly or, while another process writes to it, through that process.
#pragma once

#include <string>
#include <vector>

#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Changes are durable when these return Done. Errors: of the store; kBusy: the process that writes there takes no
// control requests; of the request. An empty name removes the name.
[[nodiscard]] Result<Done> name_session(const std::string& where, const SessionRecord& session,
                                        const std::string& given_name);

// Also deletes images that are no longer needed, if no other process writes.
[[nodiscard]] Result<Done> remove_sessions(const std::string& where, const std::vector<SessionRecord>& sessions);

}  // namespace perfleet
