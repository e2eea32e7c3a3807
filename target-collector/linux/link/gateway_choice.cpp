#include "target-collector/linux/link/gateway_choice.h"

#include "daemon/option/program_options.h"
#include "schemas/host/endpoint.h"

namespace perfleet {
Result<Done> GatewayChoice::check() const {
    if (key_file.empty() != gateway_keys.empty()) {
        return Error{ErrorCode::kUsage,
                     "--key FILE and --gateway-key KEY go together: one's own secret key, and the gateway's public "
                     "key, which authenticates it"};
    }
    if (gateway_keys.size() > 1 && gateway_keys.size() != gateways.size()) {
        return Error{ErrorCode::kUsage,
                     "--gateway-key: one key for all gateways, or one for each in the order of --gateway (" +
                         std::to_string(gateways.size()) + " gateways, " + std::to_string(gateway_keys.size()) +
                         " keys)"};
    }
    return Done{};
}

Result<std::vector<ConnectKeys>> GatewayChoice::load_keys() const {
    PERFLEET_TRY(check());
    std::vector<ConnectKeys> keys;
    for (const std::string& gateway_key : gateway_keys) {
        keys.push_back(*PERFLEET_TRY(load_connect_keys(key_file, gateway_key)));
    }
    return keys;
}

std::vector<OptionRow> gateway_rows(GatewayChoice& options) {
    return {
        {"--gateway ENDPOINT", options.gateways,
         "Gateways as tcp://HOST:PORT or ipc://PATH; the first that answers is used, or the one to which it sends "
         "the target",
         is_not_empty, passes([](const std::string& text) { return check_peer_endpoint("--gateway", text); }),
         is_comma_list},
        {"--key FILE", options.key_file, "The target's secret key (perfleet keygen); no other user may read the file",
         is_not_empty, needs("--gateway-key")},
        {"--gateway-key KEY", options.gateway_keys,
         "The gateway's public key: its file, or the 40 characters; another gateway gets nothing. Of several "
         "gateways one key for all, or one for each in their order",
         is_not_empty, is_comma_list, needs("--key")}};
}

}  // namespace perfleet
