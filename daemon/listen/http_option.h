// The options --http and --http-…, of the gateway and of the query process that it starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/listen/listen_address.h"
#include "daemon/option/program_options.h"

namespace perfleet {

// Each text is empty where the option isn't given.
struct HttpOptions {
    std::string address;                              // HOST:PORT or unix:PATH; empty: no HTTP
    std::string service_key{"comm"};                  // the key whose values are services
    bool takes_profiles = false;                      // accepts profiles that are posted
    std::uint64_t push_memory_size_bytes = 1U << 30;  // of the process that reads them
    std::string tokens;                               // files
    std::string certificate;
    std::string key;
    std::string client_ca;
    std::string debuginfod_upstream;  // a URL

    // The options beside --http, to pass on to another process.
    [[nodiscard]] std::vector<std::string> arguments() const;
};

// The address where HTTP is served. Without tokens or client certificates only this machine may reach it; other
// machines only with TLS. Errors: kUsage.
[[nodiscard]] Result<ListenAddress> parse_http_address(const HttpOptions& options);

[[nodiscard]] std::vector<OptionRow> http_rows(HttpOptions& options);

}  // namespace perfleet
