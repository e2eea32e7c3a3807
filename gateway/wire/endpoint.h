// Checks where a gateway may listen.
#pragma once

#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// Without keys a gateway may listen only where just this machine can connect: `tcp://127.x.y.z:PORT`,
// `tcp://[::1]:PORT` (`*` takes a free port), `ipc://PATH`, `inproc://NAME`; with keys at every address except
// inproc://, which has no keys. Errors: kUsage, naming the endpoint and the way out.
[[nodiscard]] Result<Done> check_listen_endpoint(std::string_view endpoint, bool has_keys);

}  // namespace perfleet
