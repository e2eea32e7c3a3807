// One libzmq DEALER with one connection, and the monitor that reports its state. The only product code that includes
// zmq.h. libzmq never reconnects by itself.
//
// libzmq's thread reads whatever the server sends. Whole messages are bounded as long as they are received soon; the
// parts of an unfinished message are not bounded (docs/decisions/own-zmtp-server.md).
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
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet::zeromq {

// The libzmq context of all connections of a process. Its destruction waits until pending messages are sent, half a
// second at most.
[[nodiscard]] std::shared_ptr<void> shared_context();

class Connection : NonCopyable {
public:
    enum class Event : std::uint8_t {
        kNone,
        kConnected,       // handshake begins
        kReady,           // messages can be sent and received
        kNobodyThere,     // the address accepts no connection
        kOtherMechanism,  // the server uses keys and we don't, or the reverse
        kKeyRefused,
        kOtherKey,        // the server doesn't have the expected key
        kNotZmtp,         // not ZMTP, or another version or socket type
        kHandshakeEnded,  // the server closed the connection
        kEnded,           // messages received before can still be read
    };

    // Begins to connect to a numeric address, or `ipc://PATH`. Null: no descriptors are left.
    [[nodiscard]] static std::unique_ptr<Connection> open(const std::shared_ptr<void>& context,
                                                          const std::string& address, const ConnectKeys* keys,
                                                          std::size_t message_size_bytes_max);
    ~Connection();

    [[nodiscard]] Event next_event();

    // Copies the message. False: can't be sent before can_go_on().
    [[nodiscard]] bool send(std::span<const std::byte> message);

    struct Part {
        std::span<const std::byte> bytes;  // until the next call
        bool has_more;
    };
    [[nodiscard]] std::optional<Part> receive();

    // Whether a message can be received, or a rejected one can be sent now.
    [[nodiscard]] bool can_go_on() const;
    // Readable when can_go_on() or next_event() may have changed; wait only after both returned nothing.
    [[nodiscard]] std::array<int, 2> fds() const;

    // Drops messages that haven't been sent yet.
    void forget_unsent();

private:
    class Socket;
    class Message;
    struct Sockets;
    explicit Connection(std::unique_ptr<Sockets> sockets);

    std::unique_ptr<Sockets> sockets_;
};

// The public key of a secret one, both in Z85. Nothing if it is invalid.
[[nodiscard]] std::optional<std::string> public_key_of(const std::string& secret_text);

}  // namespace perfleet::zeromq
