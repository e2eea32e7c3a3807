// Destinations of sessions that perfleet itself makes: a store, by the process that writes to it, or a gateway.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/intake/session/session_writer.h"
#include "target-collector/linux/link/gateway_choice.h"
#include "target-collector/linux/link/gateway_link.h"

namespace perfleet {

// Sends as a collector does. Errors: GatewayLink::connect(); of a session: kUnavailable (no answer from the gateway for
// a minute), kInvalid (it refuses the session, or batches of it).
[[nodiscard]] Result<std::unique_ptr<SessionDestination>> connect_destination(GatewayLink::Peer peer);

// Opens the named store; a folder is created if missing. While another process writes to it (a gateway or a recorder),
// sessions go through that process, and through this one after it ends. Errors: those of the store, of the folder and
// of the socket in it.
[[nodiscard]] Result<std::unique_ptr<SessionDestination>> open_destination(const std::string& data);

// The option --data, and those that name a gateway instead.
[[nodiscard]] std::vector<OptionRow> destination_rows(std::string& data, GatewayChoice& gateway);

}  // namespace perfleet
