#include "target-collector/relay/relayed_target.h"

#include <utility>

#include "schemas/host/host_clock.h"
#include "schemas/wire/checksum.h"
#include "target-collector/message/patch.h"
#include "target-collector/message/reply_reader.h"

namespace perfleet {
namespace {

constexpr std::size_t kFrameSizeBytesMax = limits::kBatchSizeBytesMax;
constexpr std::uint64_t kIdleNs = 100'000'000;   // interval for checking stop
constexpr std::uint64_t kBlockedNs = 2'000'000;  // until a blocked connection is tried again
constexpr int kFramesAtOnce = 16;

std::unique_ptr<std::byte[]> frame_memory() { return std::make_unique_for_overwrite<std::byte[]>(kFrameSizeBytesMax); }

}  // namespace

RelayedTarget::RelayedTarget(const Options& options, ByteStream& target, GatewayLink& gateway, RelayCounts& counts)
    : options_{options},
      memory_{frame_memory()},
      driver_{target, std::span{memory_.get(), kFrameSizeBytesMax}, options.target},
      gateway_{gateway},
      counts_{counts},
      to_gateway_{frame_memory()} {}

void RelayedTarget::run(const std::stop_token& stop) {
    while (!stop.stop_requested() && follow_connections()) {
        bool has_carried = has_gateway_ && carry_to_gateway();
        has_carried = (has_gateway_ && carry_to_target()) || has_carried;
        if (!has_carried) {
            wait();
        }
    }
}

bool RelayedTarget::follow_connections() {
    gateway_.note_time(monotonic_now_ns());
    const bool is_new_gateway = gateway_.reconnected();
    if (has_gateway_ && (is_new_gateway || !gateway_.is_connected())) {
        return false;
    }
    has_gateway_ = gateway_.is_connected();
    if (options_.is_target_gone(has_gateway_)) {
        return false;
    }
    if (!has_gateway_) {
        return true;
    }
    driver_.tick(monotonic_now_ns());
    const bool is_new_target = driver_.reconnected();
    if (has_target_ && (is_new_target || !driver_.is_connected())) {
        return false;
    }
    if (is_new_target) {
        has_target_ = true;
        ++counts_.targets;
    }
    return true;
}

bool RelayedTarget::carry_to_gateway() {
    bool has_carried = false;
    for (int i = 0; i < kFramesAtOnce; ++i) {
        if (to_gateway_size_bytes_ == 0) {
            const auto size = driver_.receive(std::span{to_gateway_.get(), kFrameSizeBytesMax});
            if (size.ok() && *size == 0) {
                break;
            }
            const std::span frame{to_gateway_.get(), size.ok() ? *size : 0};
            if (!frame.empty() && !protocol::is_checksum_right(frame)) {
                ++counts_.frames_damaged;
                continue;
            }
            if (options_.vouches_for_it) {
                (void)clear_hello_identity(frame);
            }
            to_gateway_size_bytes_ = frame.size();
        }
        if (to_gateway_size_bytes_ > 0) {
            if (!gateway_.send(std::span{to_gateway_.get(), to_gateway_size_bytes_})) {
                break;
            }
            ++counts_.frames_to_gateway;
            to_gateway_size_bytes_ = 0;
            has_carried = true;
        }
    }
    const std::uint64_t skipped = driver_.counts().messages_skipped;
    counts_.frames_dropped += skipped - std::exchange(skipped_seen_, skipped);
    return has_carried;
}

bool RelayedTarget::carry_to_target() {
    bool has_carried = false;
    for (int i = 0; i < kFramesAtOnce && driver_.borrowed().empty(); ++i) {
        if (to_target_size_bytes_ == 0) {
            const auto size = gateway_.receive(to_target_);
            if (size.ok() && *size == 0) {
                break;
            }
            counts_.frames_dropped += size.ok() ? 0 : 1;
            to_target_size_bytes_ = size.ok() ? *size : 0;
            if (follow_redirect()) {
                to_target_size_bytes_ = 0;
                return true;
            }
        }
        if (to_target_size_bytes_ > 0) {
            if (!driver_.send(std::span<const std::byte>{to_target_}.first(to_target_size_bytes_))) {
                break;
            }
            ++counts_.frames_to_targets;
            to_target_size_bytes_ = 0;
            has_carried = true;
        }
    }
    return has_carried;
}

bool RelayedTarget::follow_redirect() {
    const auto reply = read_reply(std::span<const std::byte>{to_target_}.first(to_target_size_bytes_));
    if (!reply.ok() || reply->type != Reply::Type::kElsewhere) {
        return false;
    }
    gateway_.go_to(reply->endpoint, reply->public_key);
    has_gateway_ = gateway_.is_connected();  // nothing is relayed until then
    return true;
}

void RelayedTarget::wait() {
    const bool is_blocked = to_gateway_size_bytes_ > 0 || !driver_.borrowed().empty() || to_target_size_bytes_ > 0;
    const bool may_read = has_gateway_ && to_gateway_size_bytes_ == 0;
    gateway_.wait(may_read ? options_.descriptor : -1, is_blocked ? kBlockedNs : kIdleNs);
}

}  // namespace perfleet
