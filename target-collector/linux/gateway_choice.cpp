#include "target-collector/linux/gateway_choice.h"

#include <CLI/CLI.hpp>

#include "schemas/vocabulary/endpoint.h"
#include "schemas/vocabulary/option_value.h"

namespace perfleet {
namespace {

// As CLI11 has it: what is wrong, without the option's name.
std::string check_gateway(const std::string& text) {
    const std::string name = "--gateway ";
    const auto checked = check_peer_endpoint("--gateway", text);
    return checked.ok() ? "" : checked.error().message.substr(name.size());
}

}  // namespace

Result<Done> GatewayChoice::check() const {
    if (key_file.empty() != gateway_keys.empty()) {
        return Error{ErrorCode::kUsage,
                     "--key FILE and --gateway-key KEY go together: one's own secret key, and the gateway's public "
                     "key, by which it is known to be the right one"};
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

CLI::Option* add_gateway_options(CLI::App& app, GatewayChoice& options) {
    auto* const gateway = app.add_option("--gateway", options.gateways,
                                         "Gateways as tcp://HOST:PORT or ipc://PATH; the first that answers is used, "
                                         "or the one to which it sends the target")
                              ->type_name("ENDPOINT")
                              ->check(check_not_empty)
                              ->check(check_gateway)
                              ->delimiter(',')
                              ->allow_extra_args(false);
    auto* const key = app.add_option("--key", options.key_file,
                                     "The target's secret key (perfleet keygen); nobody else may read the file")
                          ->type_name("FILE")
                          ->check(check_not_empty);
    auto* const gateway_key = app.add_option("--gateway-key", options.gateway_keys,
                                             "The gateway's public key: its file, or the 40 characters; another "
                                             "gateway gets nothing. Of several gateways one key for all, or one for "
                                             "each in their order")
                                  ->type_name("KEY")
                                  ->check(check_not_empty)
                                  ->delimiter(',')
                                  ->allow_extra_args(false)
                                  ->needs(key);
    key->needs(gateway_key);
    return gateway;
}

}  // namespace perfleet
