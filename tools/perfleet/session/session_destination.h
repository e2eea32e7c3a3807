// Where sessions go that perfleet makes itself: into a store, through whoever writes to it, or to any gateway.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/link/gateway_choice.h"
#include "target-collector/linux/link/gateway_link.h"
#include "tools/perfleet/import/session/session_writer.h"

namespace perfleet {

// As a collector sends them. Errors: GatewayLink::connect(); of a session: kUnavailable (the gateway does nothing for a
// minute), kInvalid (it refuses the session, or batches of it).
[[nodiscard]] Result<std::unique_ptr<SessionDestination>> connect_destination(GatewayLink::Peer peer);

// The store that is named; one in a folder is made when missing. While another process writes to it (a gateway, or
// anything that records), sessions go through that, and when that ends through this one. Errors: those of the store, of
// the folder and of the socket in it.
[[nodiscard]] Result<std::unique_ptr<SessionDestination>> open_destination(const std::string& data);

// --data, and what names a gateway in its place.
[[nodiscard]] std::vector<OptionRow> destination_rows(std::string& data, GatewayChoice& gateway);

}  // namespace perfleet
