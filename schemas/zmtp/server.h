// A ZMTP server: what a libzmq ROUTER is to DEALER peers, within bounds that libzmq hasn't. Messages have one part.
//
//   peer's bytes ─ recv ─▶ PeerProtocol ─ message ─▶ Sink::take() ─ true: taken
//                │                                             └ false: the connection isn't read until resume()
//   peer ◀─ SendQueue ◀─ replies of the handshake, send()
//
// What it keeps for a peer is its unfinished frame, what its sink had no space for, and replies that it hasn't read:
// all counted, together at most `buffered_size_bytes_max`. Where that is reached, the connection is closed that holds
// most for longest. Beyond that a connection takes about 1 KB.
//
// In each run those connections come first of which no frame has begun; of the others 256 KiB in all are read. So small
// messages don't wait for large ones.
//
// Closed, with the reason counted:
//   - above `connections_max` the one that the sink gives up, or the newest; above `unheard_max` connections that never
//   sent a message, one of these by
//     chance: a flood of half handshakes hits mostly itself; above `key_connections_max` with one key the newest;
//   - a handshake that takes longer than `handshake_ns`, or no message within `first_message_ns`;
//   - a message of several parts or of more than `message_size_bytes_max`, a frame that isn't ZMTP.
//
// One thread calls run_once() and everything else, but where a function says otherwise. The sink may call send() and
// cut().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/host/wake_event.h"
#include "schemas/peers/key_folder.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/zmtp/key_gate.h"
#include "schemas/zmtp/listener.h"
#include "schemas/zmtp/peer_protocol.h"

namespace perfleet::zmtp {

// A connection's name: never used again while the server lives. 0: none.
using ConnectionId = std::uint64_t;

struct ServerLimits {
    std::size_t connections_max = 1'024;
    std::size_t unheard_max = 512;
    std::size_t key_connections_max = 64;
    std::size_t message_size_bytes_max = 1U << 20;
    std::size_t buffered_size_bytes_max = 64U << 20;
    std::size_t replies_waiting_max = 16;  // of one peer
    std::size_t replies_waiting_size_bytes_max = 1U << 20;
    std::uint64_t handshake_ns = 5'000'000'000;
    std::uint64_t first_message_ns = 15'000'000'000;
};

class Server {
public:
    struct Message {
        ConnectionId from = 0;
        std::span<const std::byte> frame;  // borrowed, at any alignment
        KeySet::Entry peer;                // by its key; null where there are no keys, and of a local peer
        bool is_local = false;
    };
    class Sink {
    public:
        virtual ~Sink() = default;
        // False: no space now. The same message is offered again at resume().
        [[nodiscard]] virtual bool take(const Message& message) = 0;
        // The connection has ended. Not of one that was never heard.
        virtual void ended(ConnectionId /*connection*/) {}
        // The connection to be closed in favour of a new one above `connections_max`; 0: none, the new one is closed.
        [[nodiscard]] virtual ConnectionId expendable() { return 0; }
    };
    enum class Sent : std::uint8_t {
        kDone,      // to the kernel, or it waits for the peer to read
        kPeerGone,  // nobody has this id any more
        kFull,      // the peer doesn't read; dropped
    };

    // With `keys` all but local peers speak CURVE and show a key of that folder. `sink` is borrowed.
    // Errors: kIo, kInvalid (key file), and those of reading keys.
    [[nodiscard]] static Result<std::unique_ptr<Server>> open(const ServerLimits& limits,
                                                              const std::optional<KeyPlaces>& keys, Sink& sink,
                                                              const LogText& log);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server();

    // Peers of a local listener speak NULL and are who they say.
    void listen_at(Listener listener, bool is_local);

    // Takes what there is, at most a share of each connection, and waits for it when there is nothing: until the time
    // is over, a peer comes, or wake().
    void run_once(std::uint64_t timeout_ns);
    // From any thread.
    void wake() const;
    // Ends run_once() while `fd` is readable. Borrowed.
    void wake_on(int fd);

    // Never waits. The frame is copied.
    Sent send(ConnectionId to, std::span<const std::byte> frame);
    // Ends it, as one that sent what it may not.
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
    [[nodiscard]] std::uint64_t random();
    // How many bytes came.
    std::size_t read_from(Connection& connection);
    // How many bytes of `input` were used; the rest is kept.
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
    std::unique_ptr<KeyGate> keys_;  // null: it asks for none
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
    std::vector<ConnectionId> paused_;   // in the order in which they came to wait for the sink
    std::deque<ConnectionId> deferred_;  // handshakes that wait for the next run
    std::vector<ConnectionId> closing_;
    std::vector<std::byte> input_;  // what one recv() gave
    PeerProtocol::Turn turn_;       // its handshakes are those of a run
    std::size_t buffered_size_bytes_ = 0;
    std::uint64_t random_state_;
    TransportCounts counts_;
};

}  // namespace perfleet::zmtp
