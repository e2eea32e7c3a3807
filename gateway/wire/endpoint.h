// Where a gateway listens, and which of these places only this machine can reach.
#pragma once

#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// Without keys a gateway listens where only this machine comes in: `tcp://127.x.y.z:PORT`, `tcp://[::1]:PORT` (`*`
// takes a free port), `ipc://PATH`, `inproc://NAME`; with keys at every address, but not inproc://, which knows none.
// Errors: kUsage, naming the endpoint and the way out.
[[nodiscard]] Result<Done> check_listen_endpoint(std::string_view endpoint, bool has_keys);

}  // namespace perfleet
