// A ZMTP server: as libzmq's ROUTER for DEALER peers, but with bounded memory. Messages have one part.
//
//   peer's bytes ─ recv ─▶ PeerProtocol ─ message ─▶ Sink::take() ─ true: taken
//                │                                             └ false: the connection isn't read until resume()
//   peer ◀─ SendQueue ◀─ replies of the handshake, send()
//
// For each peer it keeps the unfinished frame, messages that its sink had no space for, and unread replies: together at
// most `buffered_size_bytes_max` over all peers. At that limit it closes the connection that has held the most bytes
// for the longest time. In addition a connection takes about 1 KB.
//
// In each call of run_once(), connections without an unfinished frame are read first; of the others 256 KiB in all, so
// that small messages don't wait for large ones.
//
// It closes, and counts by reason:
//   - above `connections_max`: the connection that the sink chooses, or the newest;
//   - above `unheard_max` connections that never sent a message: a random one of these, so that a flood of
//     half-open handshakes mostly hits itself;
//   - above `key_connections_max` with one key: the newest;
//   - a handshake that takes longer than `handshake_ns`, or no message within `first_message_ns`;
//   - a message of several parts or of more than `message_size_bytes_max`, a frame that isn't ZMTP.
//
// One thread calls run_once() and everything else, unless a function says otherwise. The sink may call send() and
// cut().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/wake_event.h"
#include "schemas/peers/key_folder.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/zmtp/key_gate.h"
#include "schemas/zmtp/listener.h"
#include "schemas/zmtp/peer_protocol.h"

namespace perfleet::zmtp {

// Identifies a connection; never used again while the server lives. 0: none.
using ConnectionId = std::uint64_t;

struct ServerLimits {
    std::size_t connections_max = 1'024;
    std::size_t unheard_max = 512;
    std::size_t key_connections_max = 64;
    std::size_t message_size_bytes_max = 1U << 20;
    std::size_t buffered_size_bytes_max = 64U << 20;
    std::size_t replies_waiting_max = 16;  // per peer
    std::size_t replies_waiting_size_bytes_max = 1U << 20;
    std::uint64_t handshake_ns = 5'000'000'000;
    std::uint64_t first_message_ns = 15'000'000'000;
};

class Server : NonCopyable {
public:
    struct Message {
        ConnectionId from = 0;
        std::span<const std::byte> frame;  // borrowed, at any alignment
        KeySet::Entry peer;                // of the peer's key; null without keys, and for local peers
        bool is_local = false;
    };
    class Sink {
    public:
        virtual ~Sink() = default;
        // Takes a message. False: no space now; the same message is offered again after resume().
        [[nodiscard]] virtual bool take(const Message& message) = 0;
        // The connection has ended. Not called for connections that never sent a message.
        virtual void ended(ConnectionId /*connection*/) {}
        // The connection to close in favour of a new one above `connections_max`; 0: none, so the new one is closed.
        [[nodiscard]] virtual ConnectionId expendable() { return 0; }
    };
    enum class Sent : std::uint8_t {
        kDone,      // sent, or waits until the peer reads
        kPeerGone,  // no connection has this id any more
        kFull,      // the peer doesn't read; the frame was dropped
    };

    // With `keys` all peers except local ones use CURVE and need a key in that folder. `sink` is borrowed.
    // Errors: kIo, kInvalid (key file), and those of reading keys.
    [[nodiscard]] static Result<std::unique_ptr<Server>> open(const ServerLimits& limits,
                                                              const std::optional<KeyPlaces>& keys, Sink& sink,
                                                              const LogText& log);
    ~Server();

    // Peers of a local listener use NULL; their stated identity is accepted.
    void listen_at(Listener listener, bool is_local);

    // Handles what was received, at most a share of each connection. If there is nothing, waits until the time is over,
    // a peer sends, or wake() is called.
    void run_once(std::uint64_t timeout_ns);
    // From any thread.
    void wake() const;
    // Makes run_once() return while `fd` is readable. Borrowed.
    void wake_on(int fd);

    // Never blocks. Copies the frame.
    Sent send(ConnectionId to, std::span<const std::byte> frame);
    // Closes the connection of a peer that misbehaved.
    void cut(ConnectionId connection);
    // The sink has space again.
    void resume();
    [[nodiscard]] bool is_any_paused() const { return !paused_.empty(); }

    [[nodiscard]] TransportCounts counts() const;
    [[nodiscard]] std::size_t buffered_size_bytes() const { return buffered_size_bytes_; }

private:
    using Reason = PeerProtocol::EndReason;
    struct Connection;
    struct Listening {
        Listener listener;
        bool is_local;
    };

    Server(const ServerLimits& limits, Sink& sink, LogText log);
    void accept_from(const Listening& listening);
    void read_begun(std::span<Connection* const> connections);
    // Returns the number of bytes read.
    std::size_t read_from(Connection& connection);
    // Returns how many bytes of `input` were used; the rest is kept.
    [[nodiscard]] std::size_t take_input(Connection& connection, std::span<const std::byte> input);
    void take_message(Connection& connection, std::span<const std::byte> payload);
    void admit(Connection& connection, const PublicKey& key);
    void go_on(Connection& connection);
    void write_to(Connection& connection);
    void send_replies(Connection& connection);
    void queue(Connection& connection, std::string frames);
    void set_events(Connection& connection);
    void account(Connection& connection);
    void shed();
    void close(Connection& connection, Reason reason);
    void hung_up(Connection& connection);
    void finish_closing();
    void look_at_times();
    void refresh_keys();
    void forget_unheard(Connection& connection);
    [[nodiscard]] Connection* find(ConnectionId id);

    ServerLimits limits_;
    std::unique_ptr<KeyGate> keys_;  // null: no keys needed
    Sink& sink_;
    LogText log_;
    FileDescriptor epoll_;
    WakeEvent wake_;
    ConnectionId next_id_ = 1;
    std::uint64_t now_ns_ = 0;
    std::uint64_t next_look_ns_ = 0;
    std::vector<std::unique_ptr<Listening>> listening_;
    std::unordered_map<ConnectionId, std::unique_ptr<Connection>> connections_;
    std::vector<Connection*> unheard_;
    std::vector<ConnectionId> paused_;   // in the order in which they began to wait for the sink
    std::deque<ConnectionId> deferred_;  // handshakes that wait for the next run
    std::vector<ConnectionId> closing_;
    std::vector<std::byte> input_;  // the bytes of one recv()
    PeerProtocol::Turn turn_;       // its handshakes_left counts for a whole run
    std::size_t buffered_size_bytes_ = 0;
    std::minstd_rand random_;
    TransportCounts counts_;
};

}  // namespace perfleet::zmtp
