// Changes sessions of a store: in it, or, while another process writes there, through that one.
#pragma once

#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/model/session.h"

namespace perfleet {

// Durable when these return Done. Errors: of the store; kBusy: a process writes there that takes no orders; of orders.
// Empty: takes the name away.
[[nodiscard]] Result<Done> name_session(const std::string& where, const SessionRecord& session,
                                        const std::string& given_name);

// Deletes images that nothing needs any more, too, where no other process writes.
[[nodiscard]] Result<Done> remove_sessions(const std::string& where, const std::vector<SessionRecord>& sessions);

}  // namespace perfleet
