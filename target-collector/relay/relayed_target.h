// One target without CURVE, and its own connection to the gateway, with CURVE. Frames are forwarded unchanged, except
// Hello: its identity is cleared if the relay shows a key, because the gateway takes the identity from the key.
//
// Drops nothing and keeps one frame in each direction. While the gateway takes no frame, nothing is read from the
// target, whose spool keeps its rows. When either connection ends, the other is closed: both sides start again, as
// without a relay. The target's handshake waits until the gateway is connected. If the gateway redirects the target to
// another gateway, the relay connects there; the target stays connected and repeats its Hello.
//
// One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/linux/link/gateway_link.h"
#include "target-collector/relay/relay_counts.h"
#include "target-collector/wire/byte_stream.h"
#include "target-collector/wire/zmtp_driver.h"

namespace perfleet {

class RelayedTarget {
public:
    struct Options {
        ZmtpDriver::Options target;   // includes the timeout
        bool vouches_for_it = false;  // the relay shows a key to the gateway
        int descriptor = -1;          // readable when the target has sent something
        // Polled; `is_read`: its bytes are being read, so that its last frames come before its end.
        std::function<bool(bool is_read)> is_target_gone;
    };

    // All are borrowed.
    RelayedTarget(const Options& options, ByteStream& target, GatewayLink& gateway, RelayCounts& counts);

    // Runs until either side has disconnected, or a stop is requested.
    void run(const std::stop_token& stop);

private:
    // False: either side has disconnected.
    [[nodiscard]] bool follow_connections();
    // True: a frame was forwarded.
    [[nodiscard]] bool carry_to_gateway();
    [[nodiscard]] bool carry_to_target();
    // True: the reply names another gateway. The relay connects there, and the target doesn't get the reply.
    [[nodiscard]] bool follow_redirect();
    void wait();

    Options options_;
    std::unique_ptr<std::byte[]> memory_;  // of driver_
    ZmtpDriver driver_;
    GatewayLink& gateway_;
    RelayCounts& counts_;
    bool has_gateway_ = false;
    bool has_target_ = false;
    std::unique_ptr<std::byte[]> to_gateway_;
    std::size_t to_gateway_size_bytes_ = 0;  // 0: no frame waits
    std::array<std::byte, limits::kReplySizeBytesMax> to_target_{};
    std::size_t to_target_size_bytes_ = 0;
    std::uint64_t skipped_seen_ = 0;
};

}  // namespace perfleet
