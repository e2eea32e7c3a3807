#include "schemas/zmtp/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>
#include <utility>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/zmtp/clock.h"
#include "schemas/zmtp/kept_bytes.h"

namespace perfleet::zmtp {
namespace {

constexpr std::uint64_t kLookEveryNs = 250 * kNsPerMs;
constexpr int kEventsAtOnceMax = 256;
constexpr int kAcceptedAtOnceMax = 64;
constexpr std::size_t kReadSizeBytes = 256U << 10;
constexpr std::size_t kKeptSizeBytesMin = 512;
constexpr std::size_t kHandshakesAtOnceMax = 4;  // of CURVE, about 0.1 ms each; then those who are in get their turn
constexpr std::uint32_t kCommandsMax = 256;      // of one peer between two looks
constexpr std::uint64_t kReportsMax = 4;
constexpr std::uint64_t kReportsEveryNs = 10'000 * kNsPerMs;

// A peer that is gone without a word is noticed by TCP.
constexpr int kKeepaliveIdleS = 10;
constexpr int kKeepaliveIntervalS = 5;
constexpr int kKeepaliveCount = 3;
constexpr int kUnacknowledgedMs = 25'000;

void set_tcp_options(int fd) {
    const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleS);
    set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalS);
    set(IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveCount);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

// Of a frame that waits, with its place in the list.
std::size_t size_of(const std::string& frame) {
    constexpr std::size_t kPlaceSizeBytes = 64;
    return frame.capacity() + kPlaceSizeBytes;
}

std::string address_of(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return "an unknown address";
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.ss_family == AF_INET) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, &address, sizeof ipv4);
        return inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    }
    if (address.ss_family == AF_INET6) {
        sockaddr_in6 ipv6{};
        std::memcpy(&ipv6, &address, sizeof ipv6);
        return inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
    }
    return "a Unix socket";
}

}  // namespace

struct Server::Connection {
    enum class Step : std::uint8_t { kGreeting, kHandshake, kReady };

    ConnectionId id = 0;
    int fd = -1;
    Step step = Step::kGreeting;
    bool is_local = false;
    bool is_heard = false;
    bool is_waiting = false;   // for the sink, or for its turn to shake hands: not read
    bool has_pending = false;  // a message that the sink had no space for
    bool is_closing = false;
    std::uint32_t events = 0;  // that epoll looks for
    std::uint32_t command_count = 0;
    std::uint64_t accepted_ns = 0;
    std::uint64_t kept_since_ns = 0;
    std::size_t unheard_index = 0;
    std::size_t charge_bytes = 0;
    KeptBytes kept;
    KeptBytes pending;
    std::list<std::string> out;  // frames that the kernel has no space for
    std::size_t out_at = 0;      // sent of the first one
    std::size_t out_size_bytes = 0;
    std::unique_ptr<CurveServer> curve;  // null: NULL
    KeySet::Entry peer;
};

Server::Server(const ServerLimits& limits, Sink& sink, Notice notice)
    : limits_{limits}, sink_{sink}, notice_{std::move(notice)}, input_(kReadSizeBytes) {}

Result<Done> Server::load(const KeyPlaces& places) {
    const auto key = load_secret_key(places.key_file);
    if (!key.ok()) {
        return Error{key.error().code, "--key " + key.error().message};
    }
    keys_ = decode_server_keys(key->public_text, key->secret_text);
    if (!keys_.has_value()) {
        return Error{
            ErrorCode::kInvalid,
            places.key_file + ": its public-key isn't that of its secret-key; make a new one: perfleet keygen"};
    }
    auto folder = KeyFolder::open(places.folder_option, places.folder, notice_);
    if (!folder.ok()) {
        return std::move(folder).error();
    }
    allowed_ = std::move(*folder);
    counts_.keys_enrolled = allowed_->set()->size();
    counts_.key_files_refused = allowed_->bad_file_count();
    opened_.resize(limits_.message_size_bytes_max + CurveServer::kMessageOverheadBytes);
    return Done{};
}

Result<std::unique_ptr<Server>> Server::open(const ServerLimits& limits, const std::optional<KeyPlaces>& keys,
                                             Sink& sink, const Notice& notice) {
    std::unique_ptr<Server> server{new Server{limits, sink, notice ? notice : [](std::string_view) {}}};
    if (keys.has_value()) {
        if (auto loaded = server->load(*keys); !loaded) {
            return std::move(loaded).error();
        }
    }
    server->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    server->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->epoll_ < 0 || server->wake_ < 0 ||
        ::getrandom(&server->random_state_, sizeof server->random_state_, 0) !=
            static_cast<ssize_t>(sizeof server->random_state_)) {
        return error_from_errno(errno, "epoll");
    }
    server->random_state_ |= 1U;
    server->wake_on(server->wake_);
    return server;
}

Server::~Server() {
    for (const auto& [id, connection] : connections_) {
        ::close(connection->fd);
    }
    for (const int fd : {epoll_, wake_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
}

void Server::listen_at(Listener listener, bool is_local) {
    listening_.push_back(std::make_unique<Listening>(Listening{std::move(listener), is_local}));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = listening_.back().get();
    PERFLEET_ASSERT(::epoll_ctl(epoll_, EPOLL_CTL_ADD, listening_.back()->listener.fd(), &event) == 0);
}

void Server::wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);  // full: it is readable
}

void Server::wake_on(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &wake_;
    PERFLEET_ASSERT(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0);
}

void Server::run_once(std::uint64_t timeout_ns) {
    std::array<epoll_event, kEventsAtOnceMax> events{};
    const bool has_deferred = !deferred_.empty();
    const std::uint64_t wait_ns = has_deferred ? 0 : std::min(timeout_ns, kLookEveryNs);
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                   static_cast<int>((wait_ns + kNsPerMs - 1) / kNsPerMs));
    now_ns_ = monotonic_ns();
    handshakes_now_ = 0;
    for (std::size_t i = deferred_.size(); i > 0 && handshakes_now_ < kHandshakesAtOnceMax; --i) {
        const ConnectionId id = deferred_.front();
        deferred_.pop_front();
        if (Connection* const connection = find(id); connection != nullptr) {
            go_on(*connection);
        }
    }
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events.at(static_cast<std::size_t>(i));
        if (event.data.ptr == &wake_) {
            std::uint64_t value = 0;
            (void)!::read(wake_, &value, sizeof value);
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
                // Hung up. What it sent and nobody took, it sends again: it wasn't acknowledged.
                hung_up(connection);
            } else {
                read_from(connection);
            }
        }
    }
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
        const int fd = ::accept4(listening.listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        ++counts_.connections_accepted;
        if (connections_.size() - closing_.size() >= limits_.connections_max) {
            ++counts_.refused_connection_limit;
            ++counts_.connections_ended;
            ::close(fd);
            continue;
        }
        set_tcp_options(fd);
        auto connection = std::make_unique<Connection>();
        connection->id = next_id_++;
        connection->fd = fd;
        connection->is_local = listening.is_local;
        connection->accepted_ns = now_ns_;
        const bool has_keys = keys_.has_value() && !listening.is_local;
        if (has_keys) {
            connection->curve = std::make_unique<CurveServer>(*keys_);
        }
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = connection.get();
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
            ++counts_.connections_ended;
            ::close(fd);
            continue;
        }
        connection->events = EPOLLIN;
        connection->unheard_index = unheard_.size();
        unheard_.push_back(connection.get());
        Connection& at = *connection;
        connections_.emplace(at.id, std::move(connection));
        const auto greeting = greeting_of(has_keys ? Mechanism::kCurve : Mechanism::kNull);
        queue(at, {reinterpret_cast<const char*>(greeting.data()), greeting.size()});
        if (unheard_.size() > limits_.unheard_max) {
            // xorshift64: nobody gains by guessing it.
            random_state_ ^= random_state_ << 13U;
            random_state_ ^= random_state_ >> 7U;
            random_state_ ^= random_state_ << 17U;
            close(*unheard_[random_state_ % unheard_.size()], &TransportCounts::refused_unheard_limit);
        }
    }
}

void Server::forget_unheard(Connection& connection) {
    // By its place in the list, where the last one then stands.
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
        const auto of_key = key_connections_.find(connection.peer->key);
        if (of_key != key_connections_.end() && --of_key->second == 0) {
            key_connections_.erase(of_key);
        }
    }
    buffered_size_bytes_ -= std::exchange(connection.charge_bytes, 0);
    ::close(std::exchange(connection.fd, -1));
    closing_.push_back(connection.id);
}

// Events of this run may still name them until here.
void Server::finish_closing() {
    for (const ConnectionId id : std::exchange(closing_, {})) {
        connections_.erase(id);
    }
}

Server::Taken Server::fail(Connection& connection, Reason reason) {
    close(connection, reason);
    return Taken::kClosed;
}

void Server::hung_up(Connection& connection) {
    close(connection, connection.step == Connection::Step::kReady ? nullptr : &TransportCounts::handshakes_unfinished);
}

void Server::cut(ConnectionId id) {
    if (Connection* const connection = find(id); connection != nullptr) {
        close(*connection, &TransportCounts::refused_abuse_limit);
    }
}

void Server::look_at_times() {
    for (const auto& [id, at] : connections_) {
        Connection& connection = *at;
        connection.command_count = 0;
        if (connection.is_heard || connection.is_closing) {
            continue;
        }
        const std::uint64_t age_ns = now_ns_ - connection.accepted_ns;
        if (connection.step != Connection::Step::kReady && age_ns > limits_.handshake_ns) {
            close(connection, &TransportCounts::handshakes_unfinished);
        } else if (age_ns > limits_.first_message_ns) {
            close(connection, &TransportCounts::refused_first_message_timeout);
        }
    }
}

void Server::refresh_keys() {
    if (allowed_ == nullptr || !allowed_->refresh(now_ns_)) {
        return;
    }
    const KeySet& set = *allowed_->set();
    counts_.keys_enrolled = set.size();
    counts_.key_files_refused = allowed_->bad_file_count();
    for (const auto& [id, connection] : connections_) {
        if (connection->peer != nullptr && !connection->is_closing) {
            const KeySet::Entry now = set.find(connection->peer->key);
            if (now == nullptr || (now != connection->peer && *now != *connection->peer)) {
                close(*connection, &TransportCounts::refused_revoked);
            }
        }
    }
}

// What an operator needs who forgot to enrol somebody; only some in a while.
void Server::report_unknown_key(const Connection& connection, const PublicKey& key) {
    if (now_ns_ - reports_since_ns_ >= kReportsEveryNs) {
        reports_since_ns_ = now_ns_;
        report_count_ = 0;
    }
    if (++report_count_ <= kReportsMax) {
        notice_("refused a peer at " + address_of(connection.fd) + ": its key " + encode_public_key(key) +
                " is not on the allow-list");
    }
}

TransportCounts Server::counts() const {
    TransportCounts counts = counts_;
    counts.connections_now = connections_.size() - closing_.size();
    counts.connections_unheard_now = unheard_.size();
    return counts;
}

// -- memory -----------------------------------------------------------------------------------------------------------

void Server::account(Connection& connection) {
    if (connection.is_closing) {
        return;
    }
    const std::size_t charge = connection.kept.capacity() + connection.pending.capacity() + connection.out_size_bytes;
    buffered_size_bytes_ += charge - connection.charge_bytes;
    connection.charge_bytes = charge;
    if (connection.kept.size() == 0 && !connection.has_pending) {
        connection.kept_since_ns = 0;
    } else if (connection.kept_since_ns == 0) {
        connection.kept_since_ns = now_ns_;
    }
}

// Those that hold most for longest, until an eighth is free, so that this isn't done again at once.
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

// -- what comes in ----------------------------------------------------------------------------------------------------

void Server::read_from(Connection& connection) {
    if (connection.kept.size() == 0) {
        const ssize_t got = ::recv(connection.fd, input_.data(), input_.size(), 0);
        if (got <= 0) {
            if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
                hung_up(connection);
            }
            return;
        }
        const auto input = std::span<const std::byte>{input_}.first(static_cast<std::size_t>(got));
        const auto rest = input.subspan(take_input(connection, input));
        if (!connection.is_closing && !rest.empty()) {
            connection.kept.append(rest);
        }
    } else {
        // The rest of a frame, and little more; memory grows with what has come, not with what is announced.
        const auto header = connection.step == Connection::Step::kGreeting
                                ? std::optional{FrameHeader{0, kGreetingSizeBytes, 0}}
                                : read_frame_header(connection.kept.bytes());
        const std::size_t have = connection.kept.size();
        const std::size_t whole =
            header.has_value() ? header->header_size_bytes + header->body_size_bytes : kFrameHeaderSizeBytesMax;
        connection.kept.reserve(std::max({have + 1, kKeptSizeBytesMin, std::min(whole, 2 * have)}));
        const std::span<std::byte> space = connection.kept.space();
        const ssize_t got = ::recv(connection.fd, space.data(), std::min(space.size(), kReadSizeBytes), 0);
        if (got <= 0) {
            if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
                hung_up(connection);
            }
            return;
        }
        connection.kept.grow(static_cast<std::size_t>(got));
        connection.kept.drop_front(take_input(connection, connection.kept.bytes()));
    }
    account(connection);
    set_events(connection);
}

std::size_t Server::take_input(Connection& connection, std::span<const std::byte> input) {
    std::size_t used = 0;
    if (connection.step == Connection::Step::kGreeting) {
        const auto greeting = input.first(std::min(input.size(), kGreetingSizeBytes));
        const auto mechanism = connection.curve == nullptr ? Mechanism::kNull : Mechanism::kCurve;
        switch (check_greeting(greeting, mechanism)) {
            case GreetingFault::kNone: break;
            case GreetingFault::kOtherMechanism: close(connection, &TransportCounts::handshakes_no_key); return 0;
            case GreetingFault::kNotZmtp3: close(connection, &TransportCounts::handshakes_malformed); return 0;
        }
        if (greeting.size() < kGreetingSizeBytes) {
            return 0;
        }
        used = kGreetingSizeBytes;
        connection.step = Connection::Step::kHandshake;
        if (connection.curve == nullptr) {
            std::string ready;
            const std::string properties = properties_of("ROUTER");
            append_command(ready, "READY", std::as_bytes(std::span{properties}));
            queue(connection, std::move(ready));
        }
    }
    while (!connection.is_closing) {
        const auto header = read_frame_header(input.subspan(used));
        if (!header.has_value()) {
            return used;
        }
        const bool is_in = connection.step == Connection::Step::kReady;
        const std::size_t size_max = !is_in
                                         ? kHandshakeFrameSizeBytesMax
                                         : limits_.message_size_bytes_max +
                                               (connection.curve == nullptr ? 0 : CurveServer::kMessageOverheadBytes);
        if ((header->flags & ~(kMore | kLong | kCommand)) != 0 || header->body_size_bytes > size_max) {
            close(connection, is_in ? &TransportCounts::refused_abuse_limit : &TransportCounts::handshakes_malformed);
            return used;
        }
        const auto body_size = static_cast<std::size_t>(header->body_size_bytes);
        if (input.size() - used - header->header_size_bytes < body_size) {
            return used;
        }
        const auto body = input.subspan(used + header->header_size_bytes, body_size);
        if (take_frame(connection, *header, body) != Taken::kUsed) {
            return used;
        }
        used += header->header_size_bytes + body_size;
        if (connection.is_waiting) {
            return used;
        }
    }
    return used;
}

Server::Taken Server::take_frame(Connection& connection, const FrameHeader& header, std::span<const std::byte> body) {
    if (header.has(kMore)) {
        return fail(connection, &TransportCounts::refused_unfinished_message);
    }
    if (connection.step == Connection::Step::kHandshake) {
        return header.has(kCommand) ? take_handshake(connection, body)
                                    : fail(connection, &TransportCounts::handshakes_malformed);
    }
    if (connection.curve == nullptr) {
        return header.has(kCommand) ? take_command(connection, body) : take_message(connection, body);
    }
    const auto opened = connection.curve->open(body, opened_);
    if (!opened.has_value()) {
        return fail(connection, &TransportCounts::refused_abuse_limit);
    }
    if ((opened->flags & CurveServer::kMoreInside) != 0) {
        return fail(connection, &TransportCounts::refused_unfinished_message);
    }
    return (opened->flags & CurveServer::kCommandInside) != 0 ? take_command(connection, opened->payload)
                                                              : take_message(connection, opened->payload);
}

Server::Taken Server::take_message(Connection& connection, std::span<const std::byte> payload) {
    if (!connection.is_heard) {
        connection.is_heard = true;
        forget_unheard(connection);
    }
    if (sink_.take({connection.id, payload, connection.peer, connection.is_local})) {
        return Taken::kUsed;
    }
    // Kept by itself: what was encrypted can be opened only once.
    connection.pending.append(payload);
    connection.has_pending = true;
    connection.is_waiting = true;
    paused_.push_back(connection.id);
    return Taken::kUsed;
}

// Of those that may come at any time PING alone wants an answer.
Server::Taken Server::take_command(Connection& connection, std::span<const std::byte> body) {
    constexpr std::size_t kTtlSizeBytes = 2;
    constexpr std::size_t kContextSizeBytesMax = 16;
    const auto command = read_command(body);
    if (!command.has_value() || ++connection.command_count > kCommandsMax) {
        return fail(connection, &TransportCounts::refused_abuse_limit);
    }
    if (command->name == "ERROR") {
        return fail(connection, nullptr);
    }
    if (command->name != "PING") {
        return Taken::kUsed;
    }
    if (command->data.size() < kTtlSizeBytes || command->data.size() > kTtlSizeBytes + kContextSizeBytesMax) {
        return fail(connection, &TransportCounts::refused_abuse_limit);
    }
    if (connection.out.size() < limits_.replies_waiting_max) {
        std::string pong;
        const auto context = command->data.subspan(kTtlSizeBytes);
        if (connection.curve == nullptr) {
            append_command(pong, "PONG", context);
        } else {
            std::string inner{"\x04PONG"};
            inner.append(reinterpret_cast<const char*>(context.data()), context.size());
            connection.curve->append_message(pong, CurveServer::kCommandInside, std::as_bytes(std::span{inner}));
        }
        queue(connection, std::move(pong));
    }
    return connection.is_closing ? Taken::kClosed : Taken::kUsed;
}

Server::Taken Server::take_handshake(Connection& connection, std::span<const std::byte> body) {
    const auto command = read_command(body);
    if (!command.has_value()) {
        return fail(connection, &TransportCounts::handshakes_malformed);
    }
    if (command->name == "ERROR") {
        return fail(connection, &TransportCounts::handshakes_unfinished);
    }
    if (connection.curve == nullptr) {
        return command->name == "READY" ? begin_ready(connection, command->data)
                                        : fail(connection, &TransportCounts::handshakes_malformed);
    }
    if (handshakes_now_ >= kHandshakesAtOnceMax) {
        connection.is_waiting = true;
        deferred_.push_back(connection.id);
        return Taken::kLater;
    }
    ++handshakes_now_;
    std::string answer;
    if (command->name == "HELLO") {
        if (!connection.curve->take_hello(command->data, answer)) {
            return fail(connection, &TransportCounts::handshakes_undecipherable);
        }
        queue(connection, std::move(answer));
        return connection.is_closing ? Taken::kClosed : Taken::kUsed;
    }
    if (command->name != "INITIATE") {
        return fail(connection, &TransportCounts::handshakes_malformed);
    }
    const auto peer = connection.curve->take_initiate(command->data);
    if (!peer.has_value()) {
        return fail(connection, &TransportCounts::handshakes_undecipherable);
    }
    KeySet::Entry entry = allowed_->set()->find(peer->key);
    if (entry == nullptr) {
        report_unknown_key(connection, peer->key);
        constexpr std::string_view kNotAllowed{
            "\x03"
            "400"};
        append_command(answer, "ERROR", std::as_bytes(std::span{kNotAllowed}));
        queue(connection, std::move(answer));
        return fail(connection, &TransportCounts::handshakes_unknown_key);
    }
    std::size_t& of_key = key_connections_[peer->key];
    connection.peer = std::move(entry);
    if (++of_key > limits_.key_connections_max) {
        return fail(connection, &TransportCounts::refused_key_limit);
    }
    return begin_ready(connection, std::as_bytes(std::span{peer->properties}));
}

Server::Taken Server::begin_ready(Connection& connection, std::span<const std::byte> properties) {
    const auto type = find_property(properties, "Socket-Type");
    if (type != "DEALER" && type != "REQ" && type != "ROUTER") {
        return fail(connection, &TransportCounts::handshakes_malformed);
    }
    if (connection.curve != nullptr) {
        std::string ready;
        connection.curve->append_ready(ready);
        queue(connection, std::move(ready));
    }
    connection.step = Connection::Step::kReady;
    return connection.is_closing ? Taken::kClosed : Taken::kUsed;
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

// With what is kept already, then it is read again.
void Server::go_on(Connection& connection) {
    connection.is_waiting = false;
    connection.kept.drop_front(take_input(connection, connection.kept.bytes()));
    account(connection);
    set_events(connection);
}

// -- what goes out ----------------------------------------------------------------------------------------------------

Server::Sent Server::send(ConnectionId to, std::span<const std::byte> frame) {
    Connection* const connection = find(to);
    if (connection == nullptr || connection->step != Connection::Step::kReady) {
        return Sent::kPeerGone;
    }
    if (connection->out.size() >= limits_.replies_waiting_max ||
        connection->out_size_bytes + frame.size() > limits_.replies_waiting_size_bytes_max) {
        return Sent::kFull;
    }
    std::string bytes;
    if (connection->curve == nullptr) {
        append_frame_header(bytes, 0, frame.size());
        bytes.append(reinterpret_cast<const char*>(frame.data()), frame.size());
    } else {
        connection->curve->append_message(bytes, 0, frame);
    }
    queue(*connection, std::move(bytes));
    return connection->is_closing ? Sent::kPeerGone : Sent::kDone;
}

void Server::queue(Connection& connection, std::string frame) {
    connection.out_size_bytes += size_of(frame);
    connection.out.push_back(std::move(frame));
    if (connection.out.size() == 1) {
        write_to(connection);
    } else {
        account(connection);
    }
}

void Server::write_to(Connection& connection) {
    while (!connection.out.empty()) {
        const std::string& frame = connection.out.front();
        const ssize_t sent =
            ::send(connection.fd, frame.data() + connection.out_at, frame.size() - connection.out_at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && errno != EAGAIN) {
            close(connection, nullptr);
            return;
        }
        if (sent < 0) {
            break;
        }
        connection.out_at += static_cast<std::size_t>(sent);
        if (connection.out_at == frame.size()) {
            connection.out_size_bytes -= size_of(frame);
            connection.out_at = 0;
            connection.out.pop_front();
        }
    }
    account(connection);
    set_events(connection);
}

void Server::set_events(Connection& connection) {
    if (connection.is_closing) {
        return;
    }
    const std::uint32_t events = (connection.is_waiting ? 0U : static_cast<std::uint32_t>(EPOLLIN)) |
                                 (connection.out.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
    if (events != connection.events) {
        connection.events = events;
        epoll_event event{};
        event.events = events;
        event.data.ptr = &connection;
        ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd, &event);
    }
}

}  // namespace perfleet::zmtp
