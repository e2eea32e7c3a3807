// Which places to listen at can only be reached from this machine: where programs without keys listen.
//
// Hosts only.
#pragma once

#include <string_view>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// `tcp://127.x.y.z:PORT`, `tcp://[::1]:PORT` (`*` takes a free port), `ipc://PATH`, `inproc://NAME`. Errors: kUsage,
// naming the option, the endpoint and the way out.
[[nodiscard]] Result<Done> check_local_endpoint(std::string_view option, std::string_view endpoint);

}  // namespace perfleet
