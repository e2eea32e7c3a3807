// The network driver of Linux: a libzmq DEALER socket. The only file of the collector that knows ZeroMQ.
//
// One thread at a time (the wire's). Bounded: send high-water mark of limits::kSendWindowBatches messages; linger 0,
// for only acknowledgements count.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"
#include "schemas/wire/delivery_limits.h"
#include "target-collector/wire/driver.h"

namespace perfleet {

class ZmqDriver final : public NetworkDriver {
public:
    // A connection that was lost is made again after a time that doubles, with a random part.
    static constexpr int kReconnectAfterMs = 100;
    static constexpr int kReconnectAfterMsMax = 2'000;
    // Over ipc:// trying costs next to nothing, and whoever writes to a store may be replaced at any time.
    static constexpr int kLocalReconnectAfterMs = 20;
    static constexpr int kLocalReconnectAfterMsMax = 100;
    // A gateway that doesn't answer a beat for so long is gone, though nothing closed the connection. It answers those
    // of thousands of collectors, and one that is only busy must not have to shake hands with all of them again.
    static constexpr int kHeartbeatIntervalMs = 5'000;
    static constexpr int kHeartbeatTimeoutMs = 10'000;

    // Connects to `endpoint`: `tcp://HOST:PORT`, `ipc://PATH`, or `inproc://NAME`, which needs the gateway's context
    // (target-collector/wire/context.h, native_handle()) as `shared_context`; null otherwise. Does not wait for the
    // gateway. With `keys` it speaks CURVE: the gateway has to be the one that is named, and is shown the own key.
    // Errors: kUsage (endpoint that can't be understood, named), kInvalid (not a pair of keys), kIo.
    [[nodiscard]] static Result<std::unique_ptr<ZmqDriver>> connect(const std::string& endpoint, void* shared_context,
                                                                    const ConnectKeys* keys = nullptr);
    ~ZmqDriver();

    [[nodiscard]] bool send(std::span<const std::byte> frame) override;
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override;

    // As reconnected() saw it last.
    [[nodiscard]] bool is_connected() const;

    // Why there is no connection, as far as the handshake told; empty: nothing is known, or there is one.
    [[nodiscard]] const std::string& trouble() const;

    // Waits until a frame can be received, `wake_fd` (an eventfd; -1: none) is readable, or the time is over.
    void wait(int wake_fd, std::uint64_t timeout_ns);

private:
    struct Sockets;
    explicit ZmqDriver(std::unique_ptr<Sockets> sockets);
    std::unique_ptr<Sockets> sockets_;
};

}  // namespace perfleet
