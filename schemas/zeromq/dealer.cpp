#include "schemas/zeromq/dealer.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/host/endpoint.h"
#include "schemas/host/host_clock.h"

namespace perfleet::zeromq {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000 * kNsPerMs;
constexpr std::uint64_t kConnectNsMax = 10 * kNsPerSecond;
constexpr std::uint64_t kHandshakeNsMax = 10 * kNsPerSecond;
constexpr std::uint64_t kAfterTroubleNs = kNsPerSecond;
constexpr std::uint64_t kAfterFloodNs = 5 * kNsPerSecond;
constexpr std::uint64_t kWaitNsMax = 60 * kNsPerSecond;

}  // namespace

Dealer::Dealer(std::string endpoint, const ConnectKeys* keys, const DealerOptions& options)
    : endpoint_{std::move(endpoint)},
      options_{options},
      pause_ns_{options.reconnect_after_ns},
      tokens_{options.frames_burst},
      random_{std::random_device{}()} {
    if (keys != nullptr) {
        keys_ = *keys;
    }
}

Result<std::unique_ptr<Dealer>> Dealer::connect(const std::string& endpoint, const ConnectKeys* keys,
                                                const DealerOptions& options) {
    PERFLEET_TRY(check_peer_endpoint("--gateway", endpoint));
    if (keys != nullptr && public_key_of(keys->own.secret_text) != keys->own.public_text) {
        return Error{ErrorCode::kInvalid, "the key of '" + keys->own.name +
                                              "': its public-key isn't that of its secret-key; make a new one: "
                                              "perfleet keygen"};
    }
    return std::unique_ptr<Dealer>{new Dealer{endpoint, keys, options}};
}

// -- the user's side --------------------------------------------------------------------------------------------------

bool Dealer::send(std::span<const std::byte> message) {
    go_on();
    if (has_ended_) {
        end(pause_ns_);
    }
    if (!is_connected() || !connection_->send(message)) {
        return false;
    }
    tokens_ = std::min(tokens_ + 1, options_.frames_burst);
    return true;
}

std::optional<std::span<const std::byte>> Dealer::receive() {
    go_on();
    if (!is_connected()) {
        return std::nullopt;
    }
    const auto part = connection_->receive();
    if (!part.has_value() || !take_token()) {
        return std::nullopt;
    }
    if (part->has_more) {
        end_with("it sends messages that no gateway sends; is that its endpoint?", true, kAfterTroubleNs);
        return std::nullopt;
    }
    return part->bytes;
}

bool Dealer::reconnected() {
    go_on();
    return step_ == Step::kReady && !std::exchange(is_reported_, true);
}

void Dealer::wait(int wake_fd, std::uint64_t timeout_ns) {
    go_on();
    if (step_ == Step::kReady && (has_ended_ || !is_reported_ || connection_->can_go_on())) {
        return;
    }
    std::array<pollfd, 3> items{{{wake_fd, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}}};
    if (step_ == Step::kResolving) {
        items[1].fd = resolver_->fd();
    } else if (connection_ != nullptr) {
        const auto fds = connection_->fds();
        items[1].fd = fds[0];
        items[2].fd = fds[1];
    }
    const std::uint64_t deadline_ns = next_deadline_ns();
    const std::uint64_t wait_ns = std::min({timeout_ns, kWaitNsMax, deadline_ns - std::min(deadline_ns, now_ns_)});
    const timespec timeout{static_cast<std::time_t>(wait_ns / kNsPerSecond), static_cast<long>(wait_ns % kNsPerSecond)};
    (void)::ppoll(items.data(), items.size(), &timeout, nullptr);
    go_on();
}

// -- the connection ---------------------------------------------------------------------------------------------------

void Dealer::go_on() {
    now_ns_ = monotonic_now_ns();
    if (step_ == Step::kPaused && now_ns_ >= next_try_ns_) {
        if (context_ == nullptr) {
            context_ = shared_context();
        }
        resolver_.emplace(endpoint_);
        step_ = Step::kResolving;
    }
    if (step_ == Step::kResolving) {
        if (auto addresses = resolver_->take(); addresses.has_value()) {
            resolver_.reset();
            addresses_ = std::move(*addresses);
            next_address_ = 0;
            try_addresses();
        }
    }
    while (connection_ != nullptr && !has_ended_) {
        const auto event = connection_->next_event();
        if (event == Connection::Event::kNone) {
            break;
        }
        take(event);
    }
    if (has_ended_ && !connection_->can_go_on()) {
        end(pause_ns_);
    } else if (step_ == Step::kConnecting && now_ns_ - begun_ns_ > kConnectNsMax) {
        try_addresses();
    } else if (step_ == Step::kHandshake && now_ns_ - begun_ns_ > kHandshakeNsMax) {
        end_with("it doesn't complete the handshake; is that a gateway's endpoint?", false, kAfterTroubleNs);
    }
}

void Dealer::try_addresses() {
    connection_.reset();
    begun_ns_ = now_ns_;
    while (connection_ == nullptr && next_address_ < addresses_.size()) {
        step_ = Step::kConnecting;
        connection_ = Connection::open(context_, addresses_[next_address_++], keys_.has_value() ? &*keys_ : nullptr,
                                       options_.message_size_bytes_max);
    }
    if (connection_ == nullptr) {
        end(pause_ns_);
    }
}

void Dealer::take(Connection::Event event) {
    using Event = Connection::Event;
    switch (event) {
        case Event::kNone: return;
        case Event::kConnected:
            step_ = Step::kHandshake;
            begun_ns_ = now_ns_;
            return;
        case Event::kReady:
            step_ = Step::kReady;
            pause_ns_ = options_.reconnect_after_ns;
            trouble_.clear();
            is_trouble_exact_ = false;
            return;
        case Event::kEnded: has_ended_ = true; return;
        case Event::kNobodyThere: return try_addresses();
        case Event::kOtherMechanism:
            return end_with(keys_.has_value() ? "it uses no keys; leave --key and --gateway-key out, or give it keys"
                                              : "it requires a key; give --key and --gateway-key",
                            true, kAfterTroubleNs);
        case Event::kKeyRefused:
            return end_with("it refuses this key; is " + (keys_.has_value() ? keys_->own.name : std::string{}) +
                                ".pub in its folder of public keys?",
                            true, kAfterTroubleNs);
        case Event::kOtherKey: return end_with(ended_handshake(), true, kAfterTroubleNs);
        case Event::kNotZmtp: return end_with("it violates the ZeroMQ protocol", true, kAfterTroubleNs);
        case Event::kHandshakeEnded: return end_with(ended_handshake(), false, kAfterTroubleNs);
    }
}

std::string Dealer::ended_handshake() const {
    return keys_.has_value() ? "it ends the handshake; is --gateway-key really its key?"
                             : "it ends the handshake; if it requires a key, give --key and --gateway-key";
}

// Ends this attempt; also called without a connection.
void Dealer::end(std::uint64_t pause_ns) {
    if (connection_ != nullptr) {
        connection_->forget_unsent();
        connection_.reset();
    }
    step_ = Step::kPaused;
    next_try_ns_ = now_ns_ + pause_ns + random_() % (pause_ns / 2 + 1);
    pause_ns_ = std::min(2 * pause_ns_, options_.reconnect_after_ns_max);
    is_reported_ = false;
    has_ended_ = false;
}

// An exact reason is kept until there is a connection or another exact reason.
void Dealer::end_with(std::string trouble, bool is_exact, std::uint64_t pause_ns) {
    if (is_exact || !is_trouble_exact_) {
        trouble_ = std::move(trouble);
        is_trouble_exact_ = is_exact;
    }
    end(std::max(pause_ns_, pause_ns));
}

std::uint64_t Dealer::next_deadline_ns() const {
    switch (step_) {
        case Step::kPaused: return next_try_ns_;
        case Step::kConnecting: return begun_ns_ + kConnectNsMax + kNsPerMs;
        case Step::kHandshake: return begun_ns_ + kHandshakeNsMax + kNsPerMs;
        case Step::kResolving:
        case Step::kReady: return now_ns_ + kWaitNsMax;
    }
    return now_ns_;
}

bool Dealer::take_token() {
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
    end_with("it sends far more than was requested; the connection was ended", true, kAfterFloodNs);
    return false;
}

}  // namespace perfleet::zeromq
