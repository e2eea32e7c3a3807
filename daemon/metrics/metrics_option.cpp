#include "daemon/metrics/metrics_option.h"

#include "daemon/metrics/metrics_server.h"

namespace perfleet {

OptionRow metrics_row(std::string& address, const std::string& port) {
    return {"--metrics ADDRESS", address,
            "Where Prometheus reads metrics, http://HOST:PORT/metrics: 127.0.0.1:" + port + ", or 0.0.0.0:" + port +
                " for every client that can reach it. Default: no metrics",
            is_not_empty, passes(MetricsServer::check_address)};
}

}  // namespace perfleet
