// Answers `GET /metrics` with the program's metrics as Prometheus text. The only code that uses prometheus-cpp.
//
// Has one thread, which calls the source once per scrape. Limits for clients: daemon/metrics/http_responder.h.
#pragma once

#include <memory>
#include <string>

#include "schemas/host/metric.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// The page as Prometheus text, for programs that answer HTTP themselves.
[[nodiscard]] std::string metrics_text(const MetricPage& page);

class MetricsServer {
public:
    // `HOST:PORT`: an IPv4 address of this machine and a port; `*` or 0 takes a free one. Errors: kUsage, naming the
    // option and the way out.
    [[nodiscard]] static Result<Done> check_address(const std::string& address);

    // Errors: kUsage (as above, or not an address of this machine), kBusy (another program listens there),
    // kPermission, kIo.
    [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> start(const std::string& address, MetricSource source);

    // Waits for a running scrape.
    virtual ~MetricsServer() = default;

    // With the port that was bound.
    [[nodiscard]] virtual const std::string& address() const = 0;
};

}  // namespace perfleet
