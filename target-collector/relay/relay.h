// `perfleet relay`: uses CURVE to a gateway for targets that can't. Targets connect to local sockets or are attached to
// serial lines; each gets a connection of its own to the gateway, all with the relay's key.
//
// Limits: at most kTargetsMax targets, or fewer if descriptors run out, each with a thread and two frames in each
// direction. Further connections are closed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/linux/link/gateway_choice.h"
#include "target-collector/relay/relay_counts.h"

namespace perfleet {

struct RelayOptions : GatewayChoice {
    std::vector<std::string> listen;  // tcp:// of this machine, or ipc://
    std::vector<std::string> lines;   // devices or sockets, open_line()
    unsigned baud = 115'200;
    std::function<void(std::string_view)> log;  // called on any thread
};

class Relay : NonCopyable {
public:
    static constexpr std::size_t kTargetsMax = 256;
    static constexpr std::size_t kDescriptorsOfTarget = 6;  // its own, its connection's four, one to resolve a name
    // For libzmq's threads, reopened lines, and connections that are closed at once.
    static constexpr std::size_t kDescriptorsKept = 24;

    // Listens and opens lines. Errors: kUsage (endpoints, keys, no target to relay), kBusy (an address in use), and
    // those of errno.
    [[nodiscard]] static Result<std::unique_ptr<Relay>> open(const RelayOptions& options);
    ~Relay();

    // The bound endpoints, with ports.
    [[nodiscard]] const std::vector<std::string>& endpoints() const;

    // Runs until `stop_descriptor` is readable.
    void run(int stop_descriptor);

    [[nodiscard]] const RelayCounts& counts() const;

private:
    struct State;
    explicit Relay(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace perfleet
