// The options --http, --http-service-name and --http-import, of the gateway and of the query process that it starts.
#pragma once

#include <string>

#include "daemon/listen/listen_address.h"
#include "daemon/option/program_options.h"

namespace perfleet {

struct HttpOptions {
    std::string address;              // HOST:PORT; empty: no HTTP
    std::string service_key{"comm"};  // whose rows are a service
    bool takes_profiles = false;      // that are posted
};

// The address where HTTP is served: without tokens only this machine may reach it. Errors: kUsage.
[[nodiscard]] Result<ListenAddress> parse_http_address(const std::string& text);

[[nodiscard]] OptionRow http_row(HttpOptions& options);
[[nodiscard]] OptionRow http_service_name_row(HttpOptions& options);
[[nodiscard]] OptionRow http_import_row(HttpOptions& options);

}  // namespace perfleet
