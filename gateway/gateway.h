// A gateway in this process: socket, ingest and store, run by one call. `perfleet-gateway` wraps it in a main();
// `perfleet record` runs one on a thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/admission/intake_limits.h"
#include "gateway/counts/gateway_counts.h"
#include "gateway/process/memory_plan.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "storage/store/store.h"

namespace perfleet {

struct GatewayOptions {
    // Endpoints; `tcp://127.0.0.1:*` takes a free port. Without keys only loopback and ipc are allowed. May be empty if
    // `folder` is set.
    std::vector<std::string> listen;
    // Gets messages for operators ("can't store: …"), on any of the gateway's threads. May be empty.
    LogSink log;
    // Memory that peers may fill. The caller passes the store's share when it opens the store.
    MemoryPlan memory{};
    // Both or none. With keys only collectors whose NAME.pub is in the folder may connect, each as the target that its
    // file names (schemas/peers).
    struct Keys {
        std::string key_file;           // the gateway's secret key
        std::string collectors_folder;  // read again when it changes
    };
    std::optional<Keys> keys{};
    // The retention class of a session's rows; empty: always 0. Called on the thread that serves.
    std::function<std::uint8_t(const SessionRecord&)> retention_class_of{};
    // The store as --data names it, for log messages.
    std::string data{};
    // The store's folder, for the sockets of local recorders (gateway.sock) and operators (control.sock) of the same
    // user; empty: no such sockets.
    std::string folder{};
    // Of a store without a folder: where gateway.sock is, for this gateway's query process; empty: nowhere.
    std::string socket_folder{};
    std::size_t connections_max{};  // 0: as many as the process's limit of descriptors allows
    bool asks_for_symbols = true;
    std::uint32_t target_sessions_max = intake_limits::kTargetSessionsMax;  // new sessions of one target in an hour
    std::uint64_t clock_timeout_ns =
        intake_limits::kClockTimeoutNs;  // for batches of hours ahead of the gateway's clock
};

class Gateway {
public:
    // Binds; doesn't serve yet. `store` is borrowed. Errors: kUsage (endpoint, or a remote one without
    // keys), kBusy (address in use), kIo.
    [[nodiscard]] static Result<std::unique_ptr<Gateway>> open(const GatewayOptions& options, Store& store);
    virtual ~Gateway() = default;

    // The endpoints that were bound, with their ports.
    [[nodiscard]] virtual const std::vector<std::string>& endpoints() const = 0;

    // Serves until `stop` is set and stop_fd (an eventfd) is readable; then commits, acknowledges and returns. Errors:
    // those of the store that can't be retried.
    [[nodiscard]] virtual Result<Done> serve(const std::atomic<bool>& stop, int stop_fd) = 0;

    // From any thread.
    [[nodiscard]] virtual GatewayCounts counts() const = 0;
    // Connections, and rejected ones by reason. From any thread.
    [[nodiscard]] virtual TransportCounts transport_counts() const = 0;
};

}  // namespace perfleet
