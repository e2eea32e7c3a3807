// How long a batch waits for its acknowledgement before it is sent again: a gateway that is behind must not get
// everything twice on top. Twice what the last acknowledgement took, at least what was given; doubled whenever
// something was sent again without an answer. Only batches that were sent once tell how long an answer takes: for the
// others nobody knows which sending was answered (Karn & Partridge, "Improving Round-Trip Time Estimates in Reliable
// Transport Protocols", 1987).
//
// Freestanding; one thread.
#pragma once

#include <cstdint>

#include "schemas/wire/delivery_limits.h"

namespace perfleet {

class ResendTimeout {
public:
    static constexpr std::uint64_t kBackoffMax = 16;  // times the least

    explicit constexpr ResendTimeout(std::uint64_t least_ns = limits::kResendAfterNs)
        : least_ns_{least_ns}, duration_ns_{least_ns} {}

    [[nodiscard]] constexpr std::uint64_t duration_ns() const { return duration_ns_; }

    // The oldest batch was sent again.
    constexpr void grow() { set(2 * duration_ns_); }

    // A batch that was sent once was acknowledged after so long.
    constexpr void learn(std::uint64_t answered_after_ns) { set(2 * answered_after_ns); }

    // Another connection or gateway: nothing is known of it.
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
