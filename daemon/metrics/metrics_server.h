// Answers `GET /metrics` with what a program measures about itself, as Prometheus text. The only place that knows
// prometheus-cpp.
//
// Threads of its own, kHttpThreads of them; the source is asked on one of them, once a scrape, and by one at a time.
#pragma once

#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/metric.h"

namespace perfleet {

class MetricsServer {
public:
    // A connection that says nothing holds a thread for so long: one scrape waits behind kHttpThreads * n of them for
    // n * kRequestTimeoutMs at most. Asleep, a thread costs little.
    static constexpr int kHttpThreads = 24;
    static constexpr int kRequestTimeoutMs = 1'000;

    // `HOST:PORT`: an IPv4 address of this machine and a port; `*` or 0 takes a free one. Errors: kUsage, naming the
    // option and the way out.
    [[nodiscard]] static Result<Done> check_address(const std::string& address);

    // Errors: kUsage (as above, or not an address of this machine), kBusy (another program listens there),
    // kPermission, kIo.
    [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> start(const std::string& address, MetricSource source);

    // Ends when a scrape under way has ended.
    virtual ~MetricsServer() = default;

    // With the port really bound.
    [[nodiscard]] virtual const std::string& address() const = 0;
};

}  // namespace perfleet
