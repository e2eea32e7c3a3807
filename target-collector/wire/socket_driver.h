// The network driver of Linux: libzmq's DEALER (schemas/zeromq/dealer.h) over TCP or a Unix socket. One thread (the
// wire's) calls it.
//
// Limits: a few frames in the send queue. A gateway that sends more than kFramesBurst frames plus kFramesPerSecond and
// one for each frame that it received is disconnected for a while.
#pragma once

#include <memory>
#include <string>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"
#include "schemas/zeromq/dealer.h"
#include "target-collector/wire/driver.h"

namespace perfleet {

class SocketDriver final : public NetworkDriver {
public:
    // Time before a reconnect: doubles up to the maximum, with a random part.
    static constexpr std::uint64_t kReconnectAfterNs = 100'000'000;
    static constexpr std::uint64_t kReconnectAfterNsMax = 2'000'000'000;
    // Over ipc:// attempts are cheap, and the process that writes to a store may be replaced at any time.
    static constexpr std::uint64_t kLocalReconnectAfterNs = 20'000'000;
    static constexpr std::uint64_t kLocalReconnectAfterNsMax = 250'000'000;
    // A gateway acknowledges once for a group of batches: far fewer frames than this.
    static constexpr std::uint64_t kFramesBurst = 10'000;
    static constexpr std::uint64_t kFramesPerSecond = 1'000;

    // Connects to `endpoint`: `tcp://HOST:PORT` or `ipc://PATH`. Does not wait for the gateway. With `keys` it uses
    // CURVE: the gateway must have the named key, and the client authenticates by its own. Errors: kUsage (malformed
    // endpoint, which it names), kInvalid (not a pair of keys).
    [[nodiscard]] static Result<std::unique_ptr<SocketDriver>> connect(const std::string& endpoint,
                                                                       const ConnectKeys* keys = nullptr);

    [[nodiscard]] bool send(std::span<const std::byte> frame) override { return dealer_->send(frame); }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override { return dealer_->reconnected(); }

    // The state that reconnected() saw last.
    [[nodiscard]] bool is_connected() const { return dealer_->is_connected(); }

    // Why there is no connection, if known; empty: unknown, or connected.
    [[nodiscard]] const std::string& trouble() const { return dealer_->trouble(); }

    // Waits until a frame can be received, `wake_fd` (an eventfd; -1: none) is readable, or the time is over.
    void wait(int wake_fd, std::uint64_t timeout_ns) { dealer_->wait(wake_fd, timeout_ns); }

private:
    explicit SocketDriver(std::unique_ptr<zeromq::Dealer> dealer) : dealer_{std::move(dealer)} {}

    std::unique_ptr<zeromq::Dealer> dealer_;
};

}  // namespace perfleet
