#include "schemas/zmtp/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "schemas/vocabulary/endpoint.h"
#include "schemas/vocabulary/host_clock.h"

namespace perfleet::zmtp {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000 * kNsPerMs;
constexpr std::uint64_t kConnectNsMax = 10 * kNsPerSecond;
constexpr std::uint64_t kHandshakeNsMax = 10 * kNsPerSecond;
constexpr std::uint64_t kAfterTroubleNs = kNsPerSecond;
constexpr std::uint64_t kAfterFloodNs = 5 * kNsPerSecond;
constexpr std::uint64_t kWaitNsMax = 60 * kNsPerSecond;
constexpr std::size_t kReadAheadSizeBytes = 64U << 10;
constexpr std::size_t kPongsSizeBytesMax = 4U << 10;  // behind what is on its way

}  // namespace

Client::Client(std::string endpoint, const ClientOptions& options)
    : endpoint_{std::move(endpoint)},
      options_{options},
      pause_ns_{options.reconnect_after_ns},
      tokens_{options.frames_burst} {
    (void)!::getrandom(&random_state_, sizeof random_state_, 0);
    random_state_ |= 1U;
}

Result<std::unique_ptr<Client>> Client::connect(const std::string& endpoint, const ConnectKeys* keys,
                                                const ClientOptions& options) {
    PERFLEET_TRY(check_peer_endpoint("--gateway", endpoint));
    std::unique_ptr<Client> client{new Client{endpoint, options}};
    if (keys != nullptr) {
        client->key_name_ = keys->own.name;
        client->keys_ = CurveClient::decode(*keys);
        if (!client->keys_.has_value()) {
            return Error{ErrorCode::kInvalid, "the key of '" + keys->own.name +
                                                  "': its public-key isn't that of its secret-key; make a new one: "
                                                  "perfleet keygen"};
        }
    }
    client->go_on();
    return client;
}

// -- the user's side --------------------------------------------------------------------------------------------------

bool Client::send(std::span<const std::byte> message) {
    go_on();
    if (!is_connected() || has_ended_ || !out_.empty()) {
        return false;
    }
    if (curve_ == nullptr) {
        // Copied only as far as the kernel doesn't take it.
        std::string header;
        append_frame_header(header, 0, message.size());
        std::array<iovec, 2> parts{
            {{header.data(), header.size()}, {const_cast<std::byte*>(message.data()), message.size()}}};
        msghdr both{};
        both.msg_iov = parts.data();
        both.msg_iovlen = parts.size();
        const ssize_t sent = ::sendmsg(fd_.get(), &both, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return false;  // read() sees the end
        }
        const auto done = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
        out_.append(header, std::min(done, header.size()));
        const auto rest = message.subspan(done - std::min(done, header.size()));
        out_.append(reinterpret_cast<const char*>(rest.data()), rest.size());
    } else {
        curve_->append_message(out_, 0, message);
        write();
    }
    tokens_ = std::min(tokens_ + 1, options_.frames_burst);
    return true;
}

std::optional<std::span<const std::byte>> Client::receive() {
    go_on();
    while (step_ == Step::kReady) {
        const auto frame = next_frame();
        if (!frame.has_value()) {
            return std::nullopt;
        }
        if (!take_token()) {
            return std::nullopt;
        }
        const std::size_t size = frame->header.header_size_bytes + frame->body.size();
        std::span<const std::byte> payload = frame->body;
        bool is_command = frame->header.has(kCommand);
        if (curve_ != nullptr) {
            opened_.resize(std::max(opened_.size(), frame->body.size()));
            const auto opened = curve_->open(frame->body, opened_);
            if (!opened.has_value() || (opened->flags & CurveSession::kMoreInside) != 0) {
                end_as_nonsense();
                return std::nullopt;
            }
            payload = opened->payload;
            is_command = (opened->flags & CurveSession::kCommandInside) != 0;
        }
        if (!is_command) {
            to_use_ = size;
            return payload;
        }
        take_command(payload);
        use(size);
    }
    return std::nullopt;
}

bool Client::reconnected() {
    go_on();
    return step_ == Step::kReady && !std::exchange(is_reported_, true);
}

void Client::wait(int wake_fd, std::uint64_t timeout_ns) {
    go_on();
    if (step_ == Step::kReady && (has_ended_ || !is_reported_ || next_frame().has_value())) {
        return;
    }
    std::array<pollfd, 2> items{{{-1, POLLIN, 0}, {wake_fd, POLLIN, 0}}};
    if (step_ == Step::kResolving) {
        items[0].fd = resolver_->fd();
    } else if (step_ != Step::kPaused) {
        items[0].fd = fd_.get();
        if (step_ == Step::kConnecting) {
            items[0].events = POLLOUT;
        } else if (!out_.empty()) {
            items[0].events = POLLIN | POLLOUT;
        }
    }
    const std::uint64_t deadline_ns = next_deadline_ns();
    const std::uint64_t wait_ns = std::min({timeout_ns, kWaitNsMax, deadline_ns - std::min(deadline_ns, now_ns_)});
    const timespec timeout{static_cast<std::time_t>(wait_ns / kNsPerSecond), static_cast<long>(wait_ns % kNsPerSecond)};
    (void)::ppoll(items.data(), items.size(), &timeout, nullptr);
    go_on();
}

// -- the connection ---------------------------------------------------------------------------------------------------

void Client::go_on() {
    use(std::exchange(to_use_, 0));
    now_ns_ = monotonic_now_ns();
    if (step_ == Step::kPaused && now_ns_ >= next_try_ns_) {
        resolve();
    }
    if (step_ == Step::kResolving) {
        if (auto addresses = resolver_->take(); addresses.has_value()) {
            resolver_.reset();
            addresses_ = std::move(*addresses);
            next_address_ = 0;
            try_addresses();
        }
    } else if (step_ == Step::kConnecting) {
        finish_connecting();
    }
    if (fd_ && step_ != Step::kConnecting) {
        write();
    }
    if (fd_ && step_ != Step::kConnecting) {
        read();
    }
    if (step_ == Step::kGreeting || step_ == Step::kHandshake) {
        take_handshake();
    }
    check_times();
}

void Client::resolve() {
    resolver_.emplace(endpoint_);
    begun_ns_ = now_ns_;
    step_ = Step::kResolving;
}

void Client::try_addresses() {
    while (next_address_ < addresses_.size()) {
        const SocketAddress& address = addresses_[next_address_++];
        fd_.reset(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!fd_) {
            continue;
        }
        const int on = 1;
        ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // none at a Unix socket
        if (::connect(fd_.get(), address.get(), address.size) == 0) {
            begin_handshake();
            return;
        }
        if (errno == EINPROGRESS) {
            begun_ns_ = now_ns_;
            step_ = Step::kConnecting;
            return;
        }
        fd_.reset();
    }
    end(pause_ns_);
}

void Client::finish_connecting() {
    pollfd item{fd_.get(), POLLOUT, 0};
    if (::poll(&item, 1, 0) != 1) {
        if (now_ns_ - begun_ns_ <= kConnectNsMax) {
            return;
        }
    } else {
        int error = 0;
        socklen_t size = sizeof error;
        if (::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
            begin_handshake();
            return;
        }
    }
    fd_.reset();
    try_addresses();
}

void Client::begin_handshake() {
    begun_ns_ = now_ns_;
    step_ = Step::kGreeting;
    if (keys_.has_value()) {
        curve_ = std::make_unique<CurveClient>(*keys_);
    }
    auto greeting = greeting_of(keys_.has_value() ? Mechanism::kCurve : Mechanism::kNull);
    greeting[kAsServerAt] = std::byte{0};
    out_.assign(reinterpret_cast<const char*>(greeting.data()), greeting.size());
    write();
}

// Once; also where nobody is there.
void Client::end(std::uint64_t pause_ns) {
    fd_.reset();
    step_ = Step::kPaused;
    next_try_ns_ = now_ns_ + pause_ns + random_below(pause_ns / 2 + 1);
    pause_ns_ = std::min(2 * pause_ns_, options_.reconnect_after_ns_max);
    curve_.reset();
    kept_ = {};
    used_ = 0;
    to_use_ = 0;
    out_ = {};
    out_at_ = 0;
    is_reported_ = false;
    has_ended_ = false;
}

void Client::end_as_nonsense() {
    ++counts_.nonsense_cut;
    trouble_ = "it sends what no gateway sends; is that its endpoint?";
    is_trouble_exact_ = true;
    end(std::max(pause_ns_, kAfterTroubleNs));
}

void Client::fail_handshake(std::string trouble, bool is_exact) {
    if (is_exact || !is_trouble_exact_) {
        trouble_ = std::move(trouble);
        is_trouble_exact_ = is_exact;
    }
    end(std::max(pause_ns_, kAfterTroubleNs));
}

// xorshift64.
std::uint64_t Client::random_below(std::uint64_t bound) {
    random_state_ ^= random_state_ << 13U;
    random_state_ ^= random_state_ >> 7U;
    random_state_ ^= random_state_ << 17U;
    return random_state_ % bound;
}

std::uint64_t Client::next_deadline_ns() const {
    switch (step_) {
        case Step::kPaused: return next_try_ns_;
        case Step::kResolving: return now_ns_ + kWaitNsMax;
        case Step::kConnecting: return begun_ns_ + kConnectNsMax + kNsPerMs;
        case Step::kGreeting:
        case Step::kHandshake: return begun_ns_ + kHandshakeNsMax + kNsPerMs;
        case Step::kReady: return std::max(heard_ns_, pinged_ns_) + options_.heartbeat_interval_ns;
    }
    return now_ns_;
}

void Client::check_times() {
    if ((step_ == Step::kGreeting || step_ == Step::kHandshake) && now_ns_ - begun_ns_ > kHandshakeNsMax) {
        fail_handshake("it doesn't shake hands; is that a gateway's endpoint?", false);
    }
    if (step_ != Step::kReady) {
        return;
    }
    if (pinged_ns_ > heard_ns_ &&
        now_ns_ - heard_ns_ > options_.heartbeat_interval_ns + options_.heartbeat_timeout_ns) {
        end(pause_ns_);
    } else if (now_ns_ - std::max(heard_ns_, pinged_ns_) >= options_.heartbeat_interval_ns) {
        pinged_ns_ = now_ns_;
        // Where a message is on its way that nobody reads, that is asked for an answer.
        if (out_.size() <= kPongsSizeBytesMax) {
            constexpr std::array<std::byte, 2> kTtl{};
            append_command_frame("PING", kTtl);
        }
    }
}

// -- what comes in ----------------------------------------------------------------------------------------------------

std::optional<Client::Frame> Client::next_frame() {
    const auto header = read_frame_header(input());
    if (!header.has_value()) {
        return std::nullopt;
    }
    const std::size_t size_max =
        step_ == Step::kReady
            ? options_.message_size_bytes_max + (curve_ == nullptr ? 0 : CurveSession::kMessageOverheadBytes)
            : kHandshakeFrameSizeBytesMax;
    if ((header->flags & ~(kLong | kCommand)) != 0 || header->body_size_bytes > size_max) {
        end_as_nonsense();
        return std::nullopt;
    }
    const auto body_size = static_cast<std::size_t>(header->body_size_bytes);
    if (input().size() - header->header_size_bytes < body_size) {
        return std::nullopt;
    }
    return Frame{*header, input().subspan(header->header_size_bytes, body_size)};
}

// Only when what is there is less than a frame.
void Client::read() {
    if (has_ended_ || (step_ != Step::kGreeting && next_frame().has_value()) || !fd_) {
        heard_ns_ = now_ns_;  // it isn't asked while there is something to take
    } else {
        kept_.drop_front(std::exchange(used_, 0));
        const auto header = step_ == Step::kGreeting ? std::nullopt : read_frame_header(kept_.bytes());
        // Memory grows with what has come, not with what is announced.
        const std::size_t whole = header.has_value() ? header->header_size_bytes + header->body_size_bytes : 0;
        kept_.reserve(std::max(kReadAheadSizeBytes, std::min(whole, 2 * kept_.size())));
        const std::span<std::byte> space = kept_.space();
        const ssize_t got = ::recv(fd_.get(), space.data(), space.size(), 0);
        if (got > 0) {
            kept_.grow(static_cast<std::size_t>(got));
            heard_ns_ = now_ns_;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            has_ended_ = true;
        }
    }
    if (has_ended_ && step_ == Step::kReady && !next_frame().has_value()) {
        end(pause_ns_);
    }
}

bool Client::take_greeting() {
    const auto greeting = input().first(std::min(input().size(), kGreetingSizeBytes));
    switch (check_greeting(greeting, keys_.has_value() ? Mechanism::kCurve : Mechanism::kNull)) {
        case GreetingFault::kNone: break;
        case GreetingFault::kOtherMechanism:
            fail_handshake(keys_.has_value() ? "it knows no keys; leave --key and --gateway-key out, or give it keys"
                                             : "it asks for a key; give --key and --gateway-key",
                           true);
            return false;
        case GreetingFault::kNotZmtp3: fail_handshake("it doesn't speak ZeroMQ as it should", true); return false;
    }
    if (greeting.size() < kGreetingSizeBytes) {
        return false;
    }
    use(kGreetingSizeBytes);
    step_ = Step::kHandshake;
    if (curve_ != nullptr) {
        curve_->append_hello(out_);
    } else {
        const std::string properties = properties_of("DEALER");
        append_command(out_, "READY", std::as_bytes(std::span{properties}));
    }
    write();
    return true;
}

void Client::take_handshake() {
    if (step_ == Step::kGreeting && !take_greeting()) {
        if (has_ended_ && fd_) {
            fail_handshake(keys_.has_value() ? "it ends the handshake; is --gateway-key really its key?"
                                             : "it ends the handshake; if it asks for a key, give --key and "
                                               "--gateway-key",
                           false);
        }
        return;
    }
    while (step_ == Step::kHandshake) {
        const auto frame = next_frame();
        if (!frame.has_value()) {
            break;
        }
        const std::size_t size = frame->header.header_size_bytes + frame->body.size();
        if (frame->header.has(kCommand)) {
            take_handshake_command(frame->body);
        } else {
            fail_handshake("it doesn't speak ZeroMQ as it should", true);
        }
        if (fd_) {
            use(size);
        }
    }
    if (step_ == Step::kHandshake && has_ended_) {
        fail_handshake(keys_.has_value() ? "it ends the handshake; is --gateway-key really its key?"
                                         : "it ends the handshake; if it asks for a key, give --key and --gateway-key",
                       false);
    }
}

void Client::take_handshake_command(std::span<const std::byte> body) {
    const auto command = read_command(body);
    if (!command.has_value()) {
        fail_handshake("it doesn't speak ZeroMQ as it should", true);
    } else if (command->name == "ERROR") {
        fail_handshake("it refuses this key; is " + key_name_ + ".pub in its folder of public keys?", true);
    } else if (curve_ == nullptr && command->name == "READY") {
        become_ready(command->data);
    } else if (curve_ != nullptr && command->name == "WELCOME") {
        if (curve_->take_welcome(command->data, properties_of("DEALER"), out_)) {
            write();
        } else {
            fail_handshake("it ends the handshake; is --gateway-key really its key?", true);
        }
    } else if (curve_ != nullptr && command->name == "READY") {
        if (const auto properties = curve_->take_ready(command->data); properties.has_value()) {
            become_ready(std::as_bytes(std::span{*properties}));
        } else {
            fail_handshake("it ends the handshake; is --gateway-key really its key?", true);
        }
    } else {
        fail_handshake("it doesn't speak ZeroMQ as it should", true);
    }
}

void Client::become_ready(std::span<const std::byte> properties) {
    const auto type = find_property(properties, "Socket-Type");
    if (type != "ROUTER" && type != "DEALER") {  // the relay's end is one
        fail_handshake("it doesn't speak ZeroMQ as it should", true);
        return;
    }
    step_ = Step::kReady;
    heard_ns_ = now_ns_;
    pinged_ns_ = 0;
    pause_ns_ = options_.reconnect_after_ns;
    trouble_.clear();
    is_trouble_exact_ = false;
    ++counts_.connections_made;
}

bool Client::take_token() {
    const std::uint64_t per_frame_ns = kNsPerSecond / options_.frames_per_second;
    const std::uint64_t earned = (now_ns_ - std::min(now_ns_, tokens_at_ns_)) / per_frame_ns;
    if (earned > 0) {
        tokens_ = std::min(tokens_ + earned, options_.frames_burst);
        tokens_at_ns_ = now_ns_;
    }
    if (tokens_ > 0) {
        --tokens_;
        return true;
    }
    ++counts_.floods_cut;
    trouble_ = "it sends far more than it was asked for; the connection was ended";
    is_trouble_exact_ = true;
    end(std::max(pause_ns_, kAfterFloodNs));
    return false;
}

// Of those that may come at any time PING alone wants an answer.
void Client::take_command(std::span<const std::byte> body) {
    constexpr std::size_t kTtlSizeBytes = 2;
    constexpr std::size_t kContextSizeBytesMax = 16;
    const auto command = read_command(body);
    if (command.has_value() && command->name == "PING" && command->data.size() >= kTtlSizeBytes &&
        command->data.size() <= kTtlSizeBytes + kContextSizeBytesMax && out_.size() <= kPongsSizeBytesMax) {
        append_command_frame("PONG", command->data.subspan(kTtlSizeBytes));
    }
}

// -- what goes out ----------------------------------------------------------------------------------------------------

void Client::append_command_frame(std::string_view name, std::span<const std::byte> data) {
    if (curve_ == nullptr) {
        append_command(out_, name, data);
    } else {
        std::string inner{static_cast<char>(name.size())};
        inner += name;
        inner.append(reinterpret_cast<const char*>(data.data()), data.size());
        curve_->append_message(out_, CurveSession::kCommandInside, std::as_bytes(std::span{inner}));
    }
    write();
}

void Client::write() {
    while (out_at_ < out_.size()) {
        const ssize_t sent = ::send(fd_.get(), out_.data() + out_at_, out_.size() - out_at_, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && errno == EAGAIN) {
            return;
        }
        if (sent < 0) {
            break;  // read() sees the end, behind what came before
        }
        out_at_ += static_cast<std::size_t>(sent);
    }
    out_.clear();
    out_at_ = 0;
}

}  // namespace perfleet::zmtp
