// A gateway in this process: the socket, ingest and the store, run by one call. `perfleet-gateway` is this and a main;
// `perfleet record` runs one on a thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
    // Endpoints; `tcp://127.0.0.1:*` takes a free port; without keys only loopback and ipc. May be none where
    // there is a folder.
    std::vector<std::string> listen;
    // Reported what an operator should know ("can't store: …"), on any of the gateway's threads. May be empty.
    LogSink log;
    // What peers may fill. The part for the store is its owner's to give to it.
    MemoryPlan memory{};
    // Both or none. With them only collectors come in whose NAME.pub stands in the folder, each as the target that its
    // file names (schemas/peers).
    struct Keys {
        std::string key_file;           // the gateway's secret key
        std::string collectors_folder;  // read again when it changes
    };
    std::optional<Keys> keys{};
    // In which retention class a session's rows are stored; empty: all in 0. On the thread that serves.
    std::function<std::uint8_t(const SessionRecord&)> retention_class_of{};
    // The store, as --data names it: for what is logged.
    std::string data{};
    // The store's folder: where its user's recorders on this machine (gateway.sock) and operators (control.sock) find
    // sockets; empty: nowhere.
    std::string folder{};
    std::size_t connections_max{};  // 0: what the process's limit of descriptors allows
    bool asks_for_symbols = true;
    std::uint32_t target_sessions_max = intake_limits::kTargetSessionsMax;  // new ones of one target in an hour
    std::uint64_t clock_timeout_ns = intake_limits::kClockTimeoutNs;        // for batches of hours to come
};

class Gateway {
public:
    // Binds; doesn't serve yet. `store` is borrowed. Errors: kUsage (endpoint, or a remote one without
    // keys), kBusy (address in use), kIo.
    [[nodiscard]] static Result<std::unique_ptr<Gateway>> open(const GatewayOptions& options, Store& store);
    virtual ~Gateway() = default;

    // The endpoints really bound, with the port.
    [[nodiscard]] virtual const std::vector<std::string>& endpoints() const = 0;

    // Serves until `stop` is set and stop_fd (an eventfd) readable; then commits, acknowledges and returns. An error is
    // one of the store that can't be survived.
    [[nodiscard]] virtual Result<Done> serve(const std::atomic<bool>& stop, int stop_fd) = 0;

    // From any thread.
    [[nodiscard]] virtual GatewayCounts counts() const = 0;
    // Of connections, and those refused by reason. From any thread.
    [[nodiscard]] virtual TransportCounts transport_counts() const = 0;
};

}  // namespace perfleet
