#include "gateway/wire/endpoint.h"

#include <string>

#include "schemas/host/endpoint.h"

namespace perfleet {

Result<Done> check_listen_endpoint(std::string_view endpoint, bool has_keys) {
    if (has_keys && endpoint.starts_with("inproc://")) {
        return Error{ErrorCode::kUsage,
                     "--listen " + std::string{endpoint} + ": inproc:// has no keys; use tcp:// or ipc://"};
    }
    return check_endpoint("--listen", endpoint, has_keys ? EndpointReach::kAnywhere : EndpointReach::kThisMachine);
}

}  // namespace perfleet
