// The network driver of Linux: libzmq's DEALER (schemas/zeromq/dealer.h) over TCP or a Unix socket. One thread (the
// wire's) calls it.
//
// Bounded: some frames on their way out. A gateway that sends more frames than kFramesBurst, kFramesPerSecond and one
// for each that it got is cut off for a while.
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
    // A connection that was lost is made again after a time that doubles, with a random part.
    static constexpr std::uint64_t kReconnectAfterNs = 100'000'000;
    static constexpr std::uint64_t kReconnectAfterNsMax = 2'000'000'000;
    // Over ipc:// trying costs little, and whoever writes to a store may be replaced at any time.
    static constexpr std::uint64_t kLocalReconnectAfterNs = 20'000'000;
    static constexpr std::uint64_t kLocalReconnectAfterNsMax = 250'000'000;
    // Acknowledgements come once in a group of batches: far less than this.
    static constexpr std::uint64_t kFramesBurst = 10'000;
    static constexpr std::uint64_t kFramesPerSecond = 1'000;

    // Connects to `endpoint`: `tcp://HOST:PORT` or `ipc://PATH`. Does not wait for the gateway. With `keys` it speaks
    // CURVE: the gateway has to be the one that is named, and is shown the own key. Errors: kUsage (endpoint that can't
    // be understood, named), kInvalid (not a pair of keys).
    [[nodiscard]] static Result<std::unique_ptr<SocketDriver>> connect(const std::string& endpoint,
                                                                       const ConnectKeys* keys = nullptr);

    [[nodiscard]] bool send(std::span<const std::byte> frame) override { return dealer_->send(frame); }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override { return dealer_->reconnected(); }

    // As reconnected() saw it last.
    [[nodiscard]] bool is_connected() const { return dealer_->is_connected(); }

    // Why there is no connection, as far as is known; empty: nothing is, or there is one.
    [[nodiscard]] const std::string& trouble() const { return dealer_->trouble(); }

    // Waits until a frame can be received, `wake_fd` (an eventfd; -1: none) is readable, or the time is over.
    void wait(int wake_fd, std::uint64_t timeout_ns) { dealer_->wait(wake_fd, timeout_ns); }

private:
    explicit SocketDriver(std::unique_ptr<zeromq::Dealer> dealer) : dealer_{std::move(dealer)} {}

    std::unique_ptr<zeromq::Dealer> dealer_;
};

}  // namespace perfleet
