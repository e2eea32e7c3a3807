// One target that can't speak CURVE, and its own connection to the gateway, which does: frames go over as they are.
// Only a Hello is touched: whose key is shown, that is who speaks.
//
// Nothing is dropped and little is kept: one frame each way. While the gateway takes none, nothing more is read from
// the target, whose own spool then keeps it. When either connection ends the other does: both sides begin anew, as they
// would without a relay. No target is greeted before the gateway is there. A gateway that sends the target to another
// one is followed instead: the target stays, and says Hello again by itself.
//
// One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/linux/link/gateway_link.h"
#include "target-collector/wire/byte_stream.h"
#include "target-collector/wire/zmtp_driver.h"
#include "tools/perfleet/relay/relay_counts.h"

namespace perfleet {

class RelayedTarget {
public:
    struct Options {
        ZmtpDriver::Options target;   // timeout with it
        bool vouches_for_it = false;  // a key is shown to the gateway
        int descriptor = -1;          // readable when the target has said something
        // Asked all the time; `is_read`: what it says is being read, so that its last words come before its end.
        std::function<bool(bool is_read)> is_target_gone;
    };

    // All are borrowed.
    RelayedTarget(const Options& options, ByteStream& target, GatewayLink& gateway, RelayCounts& counts);

    // Until one of the two has gone, or it is told to stop.
    void run(const std::stop_token& stop);

private:
    // False: one of the two has gone.
    [[nodiscard]] bool follow_connections();
    // True: something went.
    [[nodiscard]] bool carry_to_gateway();
    [[nodiscard]] bool carry_to_target();
    // True: the reply at hand names another gateway. The relay goes there, and the target doesn't get the reply.
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
    std::size_t to_gateway_size_bytes_ = 0;  // 0: nothing waits
    std::array<std::byte, limits::kReplySizeBytesMax> to_target_{};
    std::size_t to_target_size_bytes_ = 0;
    std::uint64_t skipped_seen_ = 0;
};

}  // namespace perfleet
