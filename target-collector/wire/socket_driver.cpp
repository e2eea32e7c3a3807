#include "target-collector/wire/socket_driver.h"

#include <algorithm>

namespace perfleet {

Result<std::unique_ptr<SocketDriver>> SocketDriver::connect(const std::string& endpoint, const ConnectKeys* keys) {
    const bool is_local = endpoint.starts_with("ipc://");
    zeromq::DealerOptions options;
    options.message_size_bytes_max = limits::kReplySizeBytesMax;
    options.reconnect_after_ns = is_local ? kLocalReconnectAfterNs : kReconnectAfterNs;
    options.reconnect_after_ns_max = is_local ? kLocalReconnectAfterNsMax : kReconnectAfterNsMax;
    options.frames_burst = kFramesBurst;
    options.frames_per_second = kFramesPerSecond;
    auto dealer = PERFLEET_TRY(zeromq::Dealer::connect(endpoint, keys, options));
    return std::unique_ptr<SocketDriver>{new SocketDriver{std::move(dealer)}};
}

Checked<std::size_t> SocketDriver::receive(std::span<std::byte> into) {
    const auto frame = dealer_->receive();
    if (!frame.has_value()) {
        return std::size_t{0};
    }
    if (frame->empty() || frame->size() > into.size()) {
        return Fault{ErrorCode::kTooLarge, 0, static_cast<std::uint64_t>(frame->size())};
    }
    std::copy(frame->begin(), frame->end(), into.begin());
    return frame->size();
}

}  // namespace perfleet
