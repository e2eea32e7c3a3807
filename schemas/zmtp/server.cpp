#include "schemas/zmtp/server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "schemas/host/host_clock.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/zmtp/kept_bytes.h"
#include "schemas/zmtp/send_queue.h"

namespace perfleet::zmtp {
namespace {

using Event = PeerProtocol::Event;

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kLookEveryNs = 250 * kNsPerMs;
constexpr int kEventsAtOnceMax = 256;
constexpr int kAcceptedAtOnceMax = 16;
constexpr std::size_t kReadSizeBytes = 256U << 10;
constexpr std::size_t kKeptSizeBytesMin = 512;
constexpr std::size_t kBegunAtOnceBytes = 256U << 10;  // of incomplete frames, over all connections
constexpr std::size_t kHandshakesAtOnceMax = 4;  // CURVE, about 0.1 ms each; then ready connections get their turn

}  // namespace

struct Server::Connection {
    Connection(ConnectionId name, FileDescriptor socket, bool is_of_this_machine, const ServerKeys* keys,
               std::size_t message_size_bytes_max)
        : id{name}, fd{std::move(socket)}, is_local{is_of_this_machine}, protocol{keys, message_size_bytes_max} {}

    ConnectionId id;
    FileDescriptor fd;
    bool is_local;
    bool is_heard = false;
    bool is_waiting = false;   // not read: waits for the sink, or for its turn in the handshake
    bool has_pending = false;  // a message that the sink had no space for
    bool is_closing = false;
    std::uint32_t events = 0;  // registered with epoll
    std::uint64_t accepted_ns = 0;
    std::uint64_t kept_since_ns = 0;
    std::size_t unheard_index = 0;
    std::size_t charge_bytes = 0;
    PeerProtocol protocol;
    KeptBytes kept;
    KeptBytes pending;
    SendQueue out;
    KeySet::Entry peer;
};

Server::Server(const ServerLimits& limits, Sink& sink, LogText log)
    : limits_{limits}, sink_{sink}, log_{std::move(log)}, input_(kReadSizeBytes), random_{std::random_device{}()} {}

Result<std::unique_ptr<Server>> Server::open(const ServerLimits& limits, const std::optional<KeyPlaces>& keys,
                                             Sink& sink, const LogText& log) {
    std::unique_ptr<Server> server{new Server{limits, sink, log ? log : [](std::string_view) {}}};
    if (keys.has_value()) {
        server->keys_ = PERFLEET_TRY(KeyGate::open(*keys, server->log_));
    }
    server->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!server->epoll_ || !server->wake_) {
        return error_from_errno(errno, "epoll");
    }
    server->wake_on(server->wake_.fd());
    return server;
}

Server::~Server() = default;

void Server::listen_at(Listener listener, bool is_local) {
    listening_.push_back(std::make_unique<Listening>(Listening{std::move(listener), is_local}));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = listening_.back().get();
    PERFLEET_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listening_.back()->listener.fd(), &event) == 0);
}

void Server::wake() const { wake_.signal(); }

void Server::wake_on(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &wake_;
    PERFLEET_ASSERT(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
}

void Server::run_once(std::uint64_t timeout_ns) {
    std::array<epoll_event, kEventsAtOnceMax> events{};
    const bool has_deferred = !deferred_.empty();
    const std::uint64_t wait_ns = has_deferred ? 0 : std::min(timeout_ns, kLookEveryNs);
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   static_cast<int>((wait_ns + kNsPerMs - 1) / kNsPerMs));
    now_ns_ = monotonic_now_ns();
    turn_.handshakes_left = kHandshakesAtOnceMax;
    for (std::size_t i = deferred_.size(); i > 0 && turn_.handshakes_left > 0; --i) {
        const ConnectionId id = deferred_.front();
        deferred_.pop_front();
        if (Connection* const connection = find(id); connection != nullptr) {
            go_on(*connection);
        }
    }
    std::vector<Connection*> begun;  // connections with an incomplete frame
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events.at(static_cast<std::size_t>(i));
        if (event.data.ptr == &wake_) {
            wake_.clear();
            continue;
        }
        const auto listening = std::find_if(listening_.begin(), listening_.end(),
                                            [&](const auto& each) { return each.get() == event.data.ptr; });
        if (listening != listening_.end()) {
            accept_from(**listening);
            continue;
        }
        Connection& connection = *static_cast<Connection*>(event.data.ptr);
        if (!connection.is_closing && (event.events & EPOLLOUT) != 0) {
            write_to(connection);
        }
        if (!connection.is_closing && (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
            if (connection.is_waiting) {
                // The peer sends again what the sink hasn't taken: that wasn't acknowledged.
                hung_up(connection);
            } else if (connection.kept.size() == 0) {
                read_from(connection);
            } else {
                begun.push_back(&connection);
            }
        }
    }
    read_begun(begun);
    if (now_ns_ >= next_look_ns_) {
        next_look_ns_ = now_ns_ + kLookEveryNs;
        look_at_times();
        refresh_keys();
    }
    if (buffered_size_bytes_ > limits_.buffered_size_bytes_max) {
        shed();
    }
    finish_closing();
}

Server::Connection* Server::find(ConnectionId id) {
    const auto found = connections_.find(id);
    return found == connections_.end() || found->second->is_closing ? nullptr : found->second.get();
}

// -- connections ------------------------------------------------------------------------------------------------------

void Server::accept_from(const Listening& listening) {
    for (int i = 0; i < kAcceptedAtOnceMax; ++i) {
        FileDescriptor fd = listening.listener.accept();
        if (!fd) {
            return;
        }
        ++counts_.connections_accepted;
        if (connections_.size() - closing_.size() >= limits_.connections_max) {
            Connection* const expendable = find(sink_.expendable());
            if (expendable == nullptr) {
                ++counts_.refused_connection_limit;
                ++counts_.connections_ended;
                continue;
            }
            close(*expendable, &TransportCounts::refused_connection_limit);
        }
        auto connection = std::make_unique<Connection>(
            next_id_++, std::move(fd), listening.is_local,
            keys_ != nullptr && !listening.is_local ? &keys_->own() : nullptr, limits_.message_size_bytes_max);
        connection->accepted_ns = now_ns_;
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = connection.get();
        if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection->fd.get(), &event) != 0) {
            ++counts_.connections_ended;
            continue;
        }
        connection->events = EPOLLIN;
        connection->unheard_index = unheard_.size();
        unheard_.push_back(connection.get());
        Connection& at = *connection;
        connections_.emplace(at.id, std::move(connection));
        std::string greeting;
        at.protocol.append_greeting(greeting);
        queue(at, std::move(greeting));
        if (unheard_.size() > limits_.unheard_max) {
            close(*unheard_[random_() % unheard_.size()], &TransportCounts::refused_unheard_limit);
        }
    }
}

void Server::forget_unheard(Connection& connection) {
    // Removes it by its index; the last entry takes its place.
    const std::size_t index = connection.unheard_index;
    if (index < unheard_.size() && unheard_[index] == &connection) {
        unheard_[index] = unheard_.back();
        unheard_[index]->unheard_index = index;
        unheard_.pop_back();
    }
}

void Server::close(Connection& connection, Reason reason) {
    if (connection.is_closing) {
        return;
    }
    connection.is_closing = true;
    if (reason != nullptr) {
        ++(counts_.*reason);
    }
    ++counts_.connections_ended;
    forget_unheard(connection);
    if (connection.peer != nullptr) {
        keys_->remove_connection(connection.peer->key);
    }
    buffered_size_bytes_ -= std::exchange(connection.charge_bytes, 0);
    connection.fd.reset();
    closing_.push_back(connection.id);
}

// Connections are destroyed only here, because events of this run may still refer to them.
void Server::finish_closing() {
    for (const ConnectionId id : std::exchange(closing_, {})) {
        const auto found = connections_.find(id);
        const bool was_heard = found->second->is_heard;
        connections_.erase(found);
        if (was_heard) {
            sink_.ended(id);
        }
    }
}

void Server::hung_up(Connection& connection) {
    close(connection, connection.protocol.is_ready() ? nullptr : &TransportCounts::handshakes_unfinished);
}

void Server::cut(ConnectionId id) {
    if (Connection* const connection = find(id); connection != nullptr) {
        close(*connection, &TransportCounts::refused_abuse_limit);
    }
}

void Server::look_at_times() {
    for (const auto& [id, at] : connections_) {
        Connection& connection = *at;
        connection.protocol.forget_commands();
        if (connection.is_heard || connection.is_closing) {
            continue;
        }
        const std::uint64_t age_ns = now_ns_ - connection.accepted_ns;
        if (!connection.protocol.is_ready() && age_ns > limits_.handshake_ns) {
            close(connection, &TransportCounts::handshakes_unfinished);
        } else if (age_ns > limits_.first_message_ns) {
            close(connection, &TransportCounts::refused_first_message_timeout);
        }
    }
}

void Server::refresh_keys() {
    if (keys_ == nullptr || !keys_->refresh(now_ns_)) {
        return;
    }
    for (const auto& [id, connection] : connections_) {
        if (connection->peer != nullptr && !connection->is_closing && !keys_->allows(connection->peer)) {
            close(*connection, &TransportCounts::refused_revoked);
        }
    }
}

TransportCounts Server::counts() const {
    TransportCounts counts = counts_;
    counts.connections_now = connections_.size() - closing_.size();
    counts.connections_unheard_now = unheard_.size();
    if (keys_ != nullptr) {
        keys_->add_to(counts);
    }
    return counts;
}

// -- memory -----------------------------------------------------------------------------------------------------------

void Server::account(Connection& connection) {
    if (connection.is_closing) {
        return;
    }
    const std::size_t charge = connection.kept.capacity() + connection.pending.capacity() + connection.out.size_bytes();
    buffered_size_bytes_ += charge - connection.charge_bytes;
    connection.charge_bytes = charge;
    if (connection.kept.size() == 0 && !connection.has_pending) {
        connection.kept_since_ns = 0;
    } else if (connection.kept_since_ns == 0) {
        connection.kept_since_ns = now_ns_;
    }
}

// Closes the connections with the largest size × age until an eighth is free, so that this stays rare.
void Server::shed() {
    std::vector<std::pair<double, Connection*>> by_weight;
    for (const auto& [id, connection] : connections_) {
        if (connection->charge_bytes > 0 && !connection->is_closing) {
            const std::uint64_t since_ns = std::min(connection->kept_since_ns, now_ns_);
            const double age_ns = since_ns == 0 ? 1.0 : static_cast<double>(now_ns_ - since_ns) + 1.0;
            by_weight.emplace_back(static_cast<double>(connection->charge_bytes) * age_ns, connection.get());
        }
    }
    std::sort(by_weight.begin(), by_weight.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second->id < b.second->id;
    });
    for (const auto& [weight, connection] : by_weight) {
        if (buffered_size_bytes_ <= limits_.buffered_size_bytes_max / 8 * 7) {
            return;
        }
        close(*connection, &TransportCounts::refused_memory_limit);
    }
}

// -- input ------------------------------------------------------------------------------------------------------------

// Begins at a random connection, since the rest must wait for the next run.
void Server::read_begun(std::span<Connection* const> connections) {
    const std::size_t first = connections.empty() ? 0 : random_() % connections.size();
    std::size_t left_bytes = kBegunAtOnceBytes;
    for (std::size_t i = 0; i < connections.size() && left_bytes > 0; ++i) {
        Connection& connection = *connections[(first + i) % connections.size()];
        if (!connection.is_closing) {
            left_bytes -= std::min(left_bytes, read_from(connection));
        }
    }
}

std::size_t Server::read_from(Connection& connection) {
    const bool is_anew = connection.kept.size() == 0;
    if (!is_anew) {
        // Reads the rest of a frame and little more; memory grows with received bytes, not with the announced size.
        const std::size_t have = connection.kept.size();
        const std::size_t whole = connection.protocol.announced_size_bytes(connection.kept.bytes());
        connection.kept.reserve(std::max({have + 1, kKeptSizeBytesMin, std::min(whole, 2 * have)}));
    }
    const std::span<std::byte> space = is_anew ? std::span{input_} : connection.kept.space();
    const ssize_t received = ::recv(connection.fd.get(), space.data(), std::min(space.size(), kReadSizeBytes), 0);
    if (received <= 0) {
        if (received == 0 || (errno != EAGAIN && errno != EINTR)) {
            hung_up(connection);
        }
        return 0;
    }
    const auto size = static_cast<std::size_t>(received);
    if (is_anew) {
        const auto input = std::span<const std::byte>{space}.first(size);
        const auto rest = input.subspan(take_input(connection, input));
        if (!connection.is_closing && !rest.empty()) {
            connection.kept.append(rest);
        }
    } else {
        connection.kept.grow(size);
        connection.kept.drop_front(take_input(connection, connection.kept.bytes()));
    }
    account(connection);
    set_events(connection);
    return size;
}

std::size_t Server::take_input(Connection& connection, std::span<const std::byte> input) {
    std::size_t used = 0;
    while (!connection.is_closing && !connection.is_waiting) {
        const PeerProtocol::Step step = connection.protocol.next(input.subspan(used), turn_);
        used += step.used_size_bytes;
        send_replies(connection);
        switch (step.event) {
            case Event::kNone: return used;
            case Event::kDone: break;
            case Event::kLater:
                connection.is_waiting = true;
                deferred_.push_back(connection.id);
                break;
            case Event::kKey: admit(connection, step.key); break;
            case Event::kMessage: take_message(connection, step.payload); break;
            case Event::kEnd: close(connection, step.end_reason); break;
        }
    }
    return used;
}

void Server::take_message(Connection& connection, std::span<const std::byte> payload) {
    if (!connection.is_heard) {
        connection.is_heard = true;
        forget_unheard(connection);
    }
    if (sink_.take({connection.id, payload, connection.peer, connection.is_local})) {
        return;
    }
    // The plaintext is kept: a message can be decrypted only once.
    connection.pending.append(payload);
    connection.has_pending = true;
    connection.is_waiting = true;
    paused_.push_back(connection.id);
}

void Server::admit(Connection& connection, const PublicKey& key) {
    connection.peer = keys_->find(key, connection.fd.get(), now_ns_);
    if (connection.peer == nullptr) {
        PeerProtocol::refuse(turn_.replies);
        send_replies(connection);
        close(connection, &TransportCounts::handshakes_unknown_key);
    } else if (keys_->add_connection(key) > limits_.key_connections_max) {
        close(connection, &TransportCounts::refused_key_limit);
    } else {
        connection.protocol.accept(turn_.replies);
        send_replies(connection);
    }
}

void Server::resume() {
    for (const ConnectionId id : std::exchange(paused_, {})) {
        Connection* const connection = find(id);
        if (connection == nullptr) {
            continue;
        }
        if (!sink_.take({id, connection->pending.bytes(), connection->peer, connection->is_local})) {
            paused_.push_back(id);
            continue;
        }
        connection->pending = {};
        connection->has_pending = false;
        go_on(*connection);
    }
}

// Processes the kept input, then reads the connection again.
void Server::go_on(Connection& connection) {
    connection.is_waiting = false;
    connection.kept.drop_front(take_input(connection, connection.kept.bytes()));
    account(connection);
    set_events(connection);
}

// -- output -----------------------------------------------------------------------------------------------------------

Server::Sent Server::send(ConnectionId to, std::span<const std::byte> frame) {
    Connection* const connection = find(to);
    if (connection == nullptr || !connection->protocol.is_ready()) {
        return Sent::kPeerGone;
    }
    if (connection->out.count() >= limits_.replies_waiting_max ||
        connection->out.size_bytes() + frame.size() > limits_.replies_waiting_size_bytes_max) {
        return Sent::kFull;
    }
    std::string bytes;
    connection->protocol.append_message(bytes, frame);
    queue(*connection, std::move(bytes));
    return connection->is_closing ? Sent::kPeerGone : Sent::kDone;
}

// Drops replies for a peer that doesn't read.
void Server::send_replies(Connection& connection) {
    if (turn_.replies.empty()) {
        return;
    }
    std::string replies = std::exchange(turn_.replies, {});
    if (connection.out.count() < limits_.replies_waiting_max) {
        queue(connection, std::move(replies));
    }
}

void Server::queue(Connection& connection, std::string frames) {
    connection.out.push(std::move(frames));
    if (connection.out.count() == 1) {
        write_to(connection);
    } else {
        account(connection);
    }
}

void Server::write_to(Connection& connection) {
    if (!connection.out.write_to(connection.fd.get())) {
        close(connection, nullptr);
        return;
    }
    account(connection);
    set_events(connection);
}

void Server::set_events(Connection& connection) {
    if (connection.is_closing) {
        return;
    }
    const std::uint32_t events = (connection.is_waiting ? 0U : static_cast<std::uint32_t>(EPOLLIN)) |
                                 (connection.out.is_empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
    if (events != connection.events) {
        connection.events = events;
        epoll_event event{};
        event.events = events;
        event.data.ptr = &connection;
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.fd.get(), &event);
    }
}

}  // namespace perfleet::zmtp
