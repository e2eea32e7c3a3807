// How long a batch waits for its acknowledgement before it is resent: a slow gateway must not get everything twice. The
// timeout is twice the last time to an acknowledgement, at least the given minimum, and doubles after each resend
// without an answer. Only batches that were sent once give a time, because otherwise it isn't known which sending was
// acknowledged (Karn & Partridge, "Improving Round-Trip Time Estimates in Reliable Transport Protocols", 1987).
//
// Freestanding; one thread.
#pragma once

#include <cstdint>

#include "schemas/wire/delivery_limits.h"

namespace perfleet {

class ResendTimeout {
public:
    static constexpr std::uint64_t kBackoffMax = 16;  // multiple of the minimum

    explicit constexpr ResendTimeout(std::uint64_t least_ns = limits::kResendAfterNs)
        : least_ns_{least_ns}, duration_ns_{least_ns} {}

    [[nodiscard]] constexpr std::uint64_t duration_ns() const { return duration_ns_; }

    // The oldest batch was resent.
    constexpr void grow() { set(2 * duration_ns_); }

    // A batch that was sent once was acknowledged after this time.
    constexpr void learn(std::uint64_t answered_after_ns) { set(2 * answered_after_ns); }

    // Another connection or gateway: restart from the minimum.
    constexpr void forget() { duration_ns_ = least_ns_; }

private:
    constexpr void set(std::uint64_t duration_ns) {
        const std::uint64_t most_ns = kBackoffMax * least_ns_;
        duration_ns_ = duration_ns < least_ns_ ? least_ns_ : duration_ns > most_ns ? most_ns : duration_ns;
    }

    std::uint64_t least_ns_;
    std::uint64_t duration_ns_;
};

}  // namespace perfleet
