#include "gateway/wire/endpoint.h"

#include "schemas/vocabulary/endpoint.h"

namespace perfleet {

Result<Done> check_listen_endpoint(std::string_view endpoint) { return check_local_endpoint("--listen", endpoint); }

}  // namespace perfleet
