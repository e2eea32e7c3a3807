// One libzmq DEALER over one connection, and the monitor that says what becomes of it: the only file of the product
// that knows zmq.h. libzmq never connects again by itself.
//
// libzmq's thread reads whatever the server sends. Whole messages are bounded by those who receive them soon; parts of
// an unfinished message by nothing (docs/decisions/own-zmtp-server.md).
//
// One thread. libzmq's own threads block all signals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "schemas/peers/key_file.h"

namespace perfleet::zeromq {

// The threads of all connections of a process at a time. Its end waits until they have sent what they had, half a
// second at most.
[[nodiscard]] std::shared_ptr<void> shared_context();

class Connection {
public:
    enum class Event : std::uint8_t {
        kNone,
        kConnected,       // and now shakes hands
        kReady,           // messages may go both ways
        kNobodyThere,     // the address takes no connection
        kOtherMechanism,  // it has keys and we haven't, or the other way round
        kKeyRefused,
        kOtherKey,        // it doesn't have the key that is expected
        kNotZmtp,         // or of another version or socket type
        kHandshakeEnded,  // it hung up
        kEnded,           // messages that it sent before can still be received
    };

    // Begins to connect to an address in digits, or `ipc://PATH`. Null: no descriptors are left.
    [[nodiscard]] static std::unique_ptr<Connection> open(const std::shared_ptr<void>& context,
                                                          const std::string& address, const ConnectKeys* keys,
                                                          std::size_t message_size_bytes_max);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] Event next_event();

    // Copies. False: not before can_go_on().
    [[nodiscard]] bool send(std::span<const std::byte> message);

    struct Part {
        std::span<const std::byte> bytes;  // until the next call
        bool has_more;
    };
    [[nodiscard]] std::optional<Part> receive();

    // A message can be received, or one that was refused can be sent.
    [[nodiscard]] bool can_go_on() const;
    // Readable when one of the above may have changed; only after next_event() and can_go_on() had nothing.
    [[nodiscard]] std::array<int, 2> fds() const;

    // What was sent and isn't on its way yet won't be.
    void forget_unsent();

private:
    class Socket;
    class Message;
    struct Sockets;
    explicit Connection(std::unique_ptr<Sockets> sockets);

    std::unique_ptr<Sockets> sockets_;
};

// The public key of a secret one, both in Z85. Nothing: it isn't one.
[[nodiscard]] std::optional<std::string> public_key_of(const std::string& secret_text);

}  // namespace perfleet::zeromq
