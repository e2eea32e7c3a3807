#include "schemas/zmtp/peer_protocol.h"

#include <algorithm>

namespace perfleet::zmtp {
namespace {

using Event = PeerProtocol::Event;
using Step = PeerProtocol::Step;

constexpr std::uint32_t kCommandsMax = 256;

Step ended(PeerProtocol::EndReason reason) { return {Event::kEnd, 0, {}, reason, {}}; }
Step done() { return {Event::kDone, 0, {}, nullptr, {}}; }
Step message_of(std::span<const std::byte> payload) { return {Event::kMessage, 0, payload, nullptr, {}}; }

// Whether a server accepts peers of this socket type.
bool is_peer(std::span<const std::byte> properties) {
    const auto type = find_property(properties, "Socket-Type");
    return type == "DEALER" || type == "REQ" || type == "ROUTER";
}

}  // namespace

PeerProtocol::PeerProtocol(const ServerKeys* keys, std::size_t message_size_bytes_max)
    : curve_{keys == nullptr ? nullptr : std::make_unique<CurveServer>(*keys)},
      message_size_bytes_max_{message_size_bytes_max} {}

void PeerProtocol::append_greeting(std::string& out) const {
    const auto greeting = greeting_of(mechanism());
    out.append(reinterpret_cast<const char*>(greeting.data()), greeting.size());
}

Step PeerProtocol::next(std::span<const std::byte> input, Turn& turn) {
    if (phase_ == Phase::kGreeting) {
        return take_greeting(input, turn);
    }
    const auto header = read_frame_header(input);
    if (!header.has_value()) {
        return {};
    }
    const std::size_t overhead = curve_ == nullptr ? 0 : CurveServer::kMessageOverheadBytes;
    const std::size_t size_max = is_ready() ? message_size_bytes_max_ + overhead : kHandshakeFrameSizeBytesMax;
    if ((header->flags & ~(kMore | kLong | kCommand)) != 0 || header->body_size_bytes > size_max) {
        return ended(is_ready() ? &TransportCounts::refused_abuse_limit : &TransportCounts::handshakes_malformed);
    }
    const auto body_size = static_cast<std::size_t>(header->body_size_bytes);
    if (input.size() - header->header_size_bytes < body_size) {
        return {};
    }
    Step step = take_frame(*header, input.subspan(header->header_size_bytes, body_size), turn);
    if (step.event != Event::kLater) {
        step.used_size_bytes = header->header_size_bytes + body_size;
    }
    return step;
}

std::size_t PeerProtocol::announced_size_bytes(std::span<const std::byte> input) const {
    if (phase_ == Phase::kGreeting) {
        return kGreetingSizeBytes;
    }
    const auto header = read_frame_header(input);
    return header.has_value() ? header->header_size_bytes + header->body_size_bytes : kFrameHeaderSizeBytesMax;
}

Step PeerProtocol::take_greeting(std::span<const std::byte> input, Turn& turn) {
    const auto greeting = input.first(std::min(input.size(), kGreetingSizeBytes));
    switch (check_greeting(greeting, mechanism())) {
        case GreetingFault::kNone: break;
        case GreetingFault::kOtherMechanism: return ended(&TransportCounts::handshakes_no_key);
        case GreetingFault::kNotZmtp3: return ended(&TransportCounts::handshakes_malformed);
    }
    if (greeting.size() < kGreetingSizeBytes) {
        return {};
    }
    phase_ = Phase::kHandshake;
    if (curve_ == nullptr) {
        const std::string properties = properties_of("ROUTER");
        append_command(turn.replies, "READY", std::as_bytes(std::span{properties}));
    }
    Step step = done();
    step.used_size_bytes = kGreetingSizeBytes;
    return step;
}

Step PeerProtocol::take_frame(const FrameHeader& header, std::span<const std::byte> body, Turn& turn) {
    if (header.has(kMore)) {
        return ended(&TransportCounts::refused_unfinished_message);
    }
    if (!is_ready()) {
        return header.has(kCommand) ? take_handshake(body, turn) : ended(&TransportCounts::handshakes_malformed);
    }
    if (curve_ == nullptr) {
        return header.has(kCommand) ? take_command(body, turn) : message_of(body);
    }
    turn.opened.resize(std::max(turn.opened.size(), body.size()));
    const auto opened = curve_->open(body, turn.opened);
    if (!opened.has_value()) {
        return ended(&TransportCounts::refused_abuse_limit);
    }
    if ((opened->flags & CurveServer::kMoreInside) != 0) {
        return ended(&TransportCounts::refused_unfinished_message);
    }
    return (opened->flags & CurveServer::kCommandInside) != 0 ? take_command(opened->payload, turn)
                                                              : message_of(opened->payload);
}

Step PeerProtocol::take_handshake(std::span<const std::byte> body, Turn& turn) {
    const auto command = read_command(body);
    if (!command.has_value()) {
        return ended(&TransportCounts::handshakes_malformed);
    }
    if (command->name == "ERROR") {
        return ended(&TransportCounts::handshakes_unfinished);
    }
    if (curve_ != nullptr) {
        return take_curve_handshake(*command, turn);
    }
    if (command->name != "READY" || !is_peer(command->data)) {
        return ended(&TransportCounts::handshakes_malformed);
    }
    phase_ = Phase::kReady;
    return done();
}

Step PeerProtocol::take_curve_handshake(const Command& command, Turn& turn) {
    const bool is_hello = command.name == "HELLO";
    if (!is_hello && command.name != "INITIATE") {
        return ended(&TransportCounts::handshakes_malformed);
    }
    if (turn.handshakes_left == 0) {
        return {Event::kLater, 0, {}, nullptr, {}};
    }
    --turn.handshakes_left;
    if (is_hello) {
        return curve_->take_hello(command.data, turn.replies) ? done()
                                                              : ended(&TransportCounts::handshakes_undecipherable);
    }
    const auto peer = curve_->take_initiate(command.data);
    if (!peer.has_value()) {
        return ended(&TransportCounts::handshakes_undecipherable);
    }
    if (!is_peer(std::as_bytes(std::span{peer->properties}))) {
        return ended(&TransportCounts::handshakes_malformed);
    }
    return {Event::kKey, 0, {}, nullptr, peer->key};
}

void PeerProtocol::accept(std::string& out) {
    curve_->append_ready(out);
    phase_ = Phase::kReady;
}

void PeerProtocol::refuse(std::string& out) {
    constexpr std::string_view kNotAllowed{
        "\x03"
        "400"};
    append_command(out, "ERROR", std::as_bytes(std::span{kNotAllowed}));
}

// Of the commands allowed at any time, only PING needs a reply.
Step PeerProtocol::take_command(std::span<const std::byte> body, Turn& turn) {
    constexpr std::size_t kTtlSizeBytes = 2;
    constexpr std::size_t kContextSizeBytesMax = 16;
    const auto command = read_command(body);
    if (!command.has_value() || ++command_count_ > kCommandsMax) {
        return ended(&TransportCounts::refused_abuse_limit);
    }
    if (command->name == "ERROR") {
        return ended(nullptr);
    }
    if (command->name != "PING") {
        return done();
    }
    if (command->data.size() < kTtlSizeBytes || command->data.size() > kTtlSizeBytes + kContextSizeBytesMax) {
        return ended(&TransportCounts::refused_abuse_limit);
    }
    const auto context = command->data.subspan(kTtlSizeBytes);
    if (curve_ == nullptr) {
        append_command(turn.replies, "PONG", context);
    } else {
        std::string inner{"\x04PONG"};
        inner.append(reinterpret_cast<const char*>(context.data()), context.size());
        curve_->append_message(turn.replies, CurveServer::kCommandInside, std::as_bytes(std::span{inner}));
    }
    return done();
}

void PeerProtocol::append_message(std::string& out, std::span<const std::byte> payload) {
    if (curve_ == nullptr) {
        append_frame_header(out, 0, payload.size());
        out.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    } else {
        curve_->append_message(out, 0, payload);
    }
}

}  // namespace perfleet::zmtp
