// The client of gateways and query processes: a libzmq DEALER that reconnects, with a new socket for each connection.
// Messages have one part.
//
// libzmq starts no thread before the first call of a method below. It reconnects after pauses that double, with a
// random part. It closes the connection if the server
//   - fails the handshake, doesn't have the expected key, or rejects ours;
//   - sends what isn't ZMTP 3, a message of several parts or of more than `message_size_bytes_max`;
//   - sends more than `frames_burst` frames above `frames_per_second` and one per message sent to it. trouble() names
//     which of these happened. It doesn't detect a silent server: the caller decides how long to wait for an answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/zeromq/connection.h"
#include "schemas/zeromq/resolver.h"

namespace perfleet::zeromq {

struct DealerOptions {
    std::size_t message_size_bytes_max = 1U << 20;
    std::uint64_t reconnect_after_ns = 100'000'000;
    std::uint64_t reconnect_after_ns_max = 2'000'000'000;
    std::uint64_t frames_burst = 20'000;
    std::uint64_t frames_per_second = 2'000;
};

class Dealer : NonCopyable {
public:
    // With `keys` it uses CURVE. Errors: kUsage (endpoint, named with "--gateway"), kInvalid (not a pair of keys).
    [[nodiscard]] static Result<std::unique_ptr<Dealer>> connect(const std::string& endpoint, const ConnectKeys* keys,
                                                                 const DealerOptions& options);

    // Never blocks; copies the message. False: other messages must be sent first, or there is no connection, or
    // reconnected() hasn't reported it yet. If the server has hung up, messages that weren't received yet are dropped.
    [[nodiscard]] bool send(std::span<const std::byte> message);

    // The next received message; valid until the next call of any method. Nothing: none, or reconnected() hasn't
    // reported its connection yet.
    [[nodiscard]] std::optional<std::span<const std::byte>> receive();

    // True once for each new connection.
    [[nodiscard]] bool reconnected();
    // The state at the last reconnected().
    [[nodiscard]] bool is_connected() const { return step_ == Step::kReady && is_reported_; }
    // The server has hung up, but messages that it sent before wait to be received.
    [[nodiscard]] bool has_hung_up() const { return has_ended_; }

    // Why there is no connection, as far as known; empty: unknown, or connected.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }

    // Waits until a message can be received, a rejected one can be sent, `wake_fd` (-1: none) is readable, or the time
    // is over.
    void wait(int wake_fd, std::uint64_t timeout_ns);

    [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

private:
    enum class Step : std::uint8_t { kPaused, kResolving, kConnecting, kHandshake, kReady };

    Dealer(std::string endpoint, const ConnectKeys* keys, const DealerOptions& options);
    void go_on();
    void try_addresses();
    void take(Connection::Event event);
    [[nodiscard]] bool take_token();
    void end(std::uint64_t pause_ns);
    void end_with(std::string trouble, bool is_exact, std::uint64_t pause_ns);
    [[nodiscard]] std::string ended_handshake() const;
    [[nodiscard]] std::uint64_t next_deadline_ns() const;

    std::string endpoint_;
    std::optional<ConnectKeys> keys_;
    DealerOptions options_;

    Step step_ = Step::kPaused;
    std::shared_ptr<void> context_;
    std::unique_ptr<Connection> connection_;
    std::optional<Resolver> resolver_;
    std::vector<std::string> addresses_;
    std::size_t next_address_ = 0;
    bool is_reported_ = false;  // reconnected() has reported this connection
    bool has_ended_ = false;    // the server has disconnected; messages that it sent before can still be received
    bool is_trouble_exact_ = false;
    std::string trouble_;

    std::uint64_t now_ns_ = 0;
    std::uint64_t next_try_ns_ = 0;
    std::uint64_t pause_ns_;      // before the next attempt
    std::uint64_t begun_ns_ = 0;  // of connecting, or of the handshake
    std::uint64_t tokens_;        // frames that the server may send
    std::uint64_t tokens_at_ns_ = 0;
    std::minstd_rand random_;
};

}  // namespace perfleet::zeromq
