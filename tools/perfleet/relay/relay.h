// `perfleet relay`: speaks CURVE to a gateway for targets that can't. They come in over local sockets or sit at serial
// lines; each gets a connection of its own to the gateway, all with the relay's key.
//
// Bounded: kTargetsMax at once, or as many as there are descriptors for, each with a thread and two frames each way.
// Who comes in beyond that is turned away.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/link/gateway_choice.h"
#include "tools/perfleet/relay/relay_counts.h"

namespace perfleet {

struct RelayOptions : GatewayChoice {
    std::vector<std::string> listen;  // tcp:// of this machine, or ipc://
    std::vector<std::string> lines;   // devices or sockets, open_line()
    unsigned baud = 115'200;
    std::function<void(std::string_view)> log;  // on any thread
};

class Relay {
public:
    static constexpr std::size_t kTargetsMax = 256;
    static constexpr std::size_t kDescriptorsOfTarget = 6;  // its own, its connection's four, one for looking up a name
    // For libzmq's threads, lines that are opened again, and who is turned away.
    static constexpr std::size_t kDescriptorsKept = 24;

    // Listens and opens lines. Errors: kUsage (endpoints, keys, no target to relay), kBusy (an address in use), and
    // those of errno.
    [[nodiscard]] static Result<std::unique_ptr<Relay>> open(const RelayOptions& options);
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    // Those really bound, with the port.
    [[nodiscard]] const std::vector<std::string>& endpoints() const;

    // Until `stop_descriptor` is readable.
    void run(int stop_descriptor);

    [[nodiscard]] const RelayCounts& counts() const;

private:
    struct State;
    explicit Relay(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace perfleet
