// The options that name a gateway and the keys for it: --gateway, --key and --gateway-key.
#pragma once

#include <string>
#include <vector>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class OptionRow;

struct GatewayChoice {
    std::vector<std::string> gateways;  // endpoints; uses the first one that answers, or the one to which it redirects
    std::string key_file;               // secret key; empty: without keys
    // Public keys of gateways, each as a file or text; requires key_file. One for all gateways, or one for each.
    std::vector<std::string> gateway_keys;

    // The pairs of keys, one for each of gateway_keys. Errors: kUsage (check(), and of the keys themselves).
    [[nodiscard]] Result<std::vector<ConnectKeys>> load_keys() const;

    // Errors: kUsage (one key without the other, or another number of them).
    [[nodiscard]] Result<Done> check() const;
};

[[nodiscard]] std::vector<OptionRow> gateway_rows(GatewayChoice& options);

}  // namespace perfleet
