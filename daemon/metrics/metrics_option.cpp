#include "daemon/metrics/metrics_option.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "daemon/metrics/metrics_server.h"
#include "schemas/vocabulary/option_value.h"

namespace perfleet {

void add_metrics_option(CLI::App& app, std::string& address, const std::string& port) {
    app.add_option("--metrics", address,
                   "Where Prometheus reads metrics, http://HOST:PORT/metrics: 127.0.0.1:" + port +
                       ", or 0.0.0.0:" + port + " for everybody who can reach it. Default: nowhere")
        ->check(check_not_empty)
        ->check([](const std::string& text) {  // as CLI11 has it: without the option's name
            const auto checked = MetricsServer::check_address(text);
            return checked.ok() ? "" : checked.error().message.substr(std::string_view{"--metrics "}.size());
        })
        ->type_name("ADDRESS");
}

}  // namespace perfleet
