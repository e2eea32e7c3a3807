// A network driver that its thread can wait for.
#pragma once

#include <cstdint>
#include <string>

#include "target-collector/wire/driver.h"

namespace perfleet {

// Longest sleep of a thread that waits for its driver.
inline constexpr std::uint64_t kSleepNsMax = 250'000'000;

class WaitingDriver : public NetworkDriver {
public:
    WaitingDriver() = default;
    virtual ~WaitingDriver() = default;

    // Waits until there is work, `wake_fd` (an eventfd, not emptied) is readable, or the time is over.
    virtual void wait(int wake_fd, std::uint64_t timeout_ns) = 0;

    // To be called at every turn with the time, so that another gateway can be tried when this one is silent.
    virtual void note_time(std::uint64_t now_ns) = 0;

    // True when the peer has been silent for so long that it must be gone.
    [[nodiscard]] virtual bool is_silent() const = 0;

    // Why there is no answer, if known: "it refuses this key"; else empty.
    [[nodiscard]] virtual std::string trouble() const { return {}; }

    // Called when the peer hasn't acknowledged everything in time: switches to another peer, which has no batches yet.
    // False: there is none.
    [[nodiscard]] virtual bool fall_back() { return false; }

    // The peer, for messages: "the gateway at tcp://…".
    [[nodiscard]] virtual std::string peer() const = 0;
};

}  // namespace perfleet
