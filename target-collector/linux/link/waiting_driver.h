// A network driver that its thread can sleep on.
#pragma once

#include <cstdint>
#include <string>

#include "target-collector/wire/driver.h"

namespace perfleet {

// What a thread that waits for its driver sleeps at most before it looks again.
inline constexpr std::uint64_t kSleepNsMax = 250'000'000;

class WaitingDriver : public NetworkDriver {
public:
    WaitingDriver() = default;
    virtual ~WaitingDriver() = default;

    // Waits until there is something to do, `wake_fd` (an eventfd, not emptied) is readable, or the time is over.
    virtual void wait(int wake_fd, std::uint64_t timeout_ns) = 0;

    // Reported the time at every turn, so that another gateway can be tried when this one is silent.
    virtual void note_time(std::uint64_t now_ns) = 0;

    // True when nothing has come for so long that nobody can be there.
    [[nodiscard]] virtual bool is_silent() const = 0;

    // Why nobody answers, if that is known: "it refuses this key"; else empty.
    [[nodiscard]] virtual std::string trouble() const { return {}; }

    // The one it talks to hasn't acknowledged everything in time: from now on it talks to another, which has nothing
    // yet. False: there is none.
    [[nodiscard]] virtual bool fall_back() { return false; }

    // Whom it talks to, for messages: "the gateway at tcp://…".
    [[nodiscard]] virtual std::string peer() const = 0;
};

}  // namespace perfleet
