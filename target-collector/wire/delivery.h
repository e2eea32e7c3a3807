// The collector's side of delivery: says Hello, sends batches within its credit, keeps them in a bounded spool until
// they are acknowledged, sends them again after a reconnect, and says Bye. States and timing: schemas/wire/README.md.
//
// Freestanding: no heap, no blocking call; step() is called again and again by the wire's loop, on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/ring/spsc_ring.h"
#include "target-collector/wire/driver.h"

namespace perfleet {

// Content of an image that the gateway may ask for. Borrowed for the delivery's life.
struct ImageSupply {
    std::span<const std::byte> build_id;
    std::uint16_t sort = 0;  // protocol::ImageSort
    std::span<const std::byte> bytes;
};

class Delivery {
public:
    struct Options {
        SessionId session;
        std::span<std::byte> hello;  // the whole Hello message (message/hello.h); patched when it is sent
        std::span<std::byte> spool;  // memory for unacknowledged batches
        std::span<const ImageSupply> images;
        std::uint64_t resend_after_ns = 0;  // limits::kResendAfterNs
    };

    // What the delivery can be asked at any time; for messages to the user and for tests.
    struct Status {
        bool welcomed = false;  // the gateway has answered since the last (re)connect
        Seq prefix;             // acknowledged up to here
        Seq last_sealed;        // taken from the ring so far
        std::uint64_t spool_used_bytes = 0;
        std::uint64_t batches_dropped = 0;
        std::uint64_t batches_resent = 0;
        std::uint64_t batches_refused = 0;
        SessionId session;                 // as given, or as the gateway granted it; none before
        bool session_refused = false;      // reason in refused_reason: nothing more will be accepted
        std::uint16_t refused_reason = 0;  // protocol::RefusedReason
        bool finished = false;             // the Bye is acknowledged: everything is durable or resolved
        UtcNs gateway_utc;                 // at the last Welcome; 0 before
    };

    // `batches` (from the sealer) and `losses` (to the sealer) are borrowed, like everything in Options.
    Delivery(const Options& options, NetworkDriver& driver, SpscRing& batches, SpscRing& losses);
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    // Does what can be done now without waiting. True when anything was done: call again soon.
    bool step(std::uint64_t now_ns);

    // Patience is over: what isn't acknowledged counts as dropped from the spool, and the Bye says so. To be called
    // after Sealer::finish(), when the gateway has taken too long.
    void give_up();

    [[nodiscard]] const Status& status() const;

private:
    friend class DeliveryParts;
};

}  // namespace perfleet
