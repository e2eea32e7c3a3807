// The protocol of one peer of a server, from its first byte on:
//
//   greeting ─▶ handshake: READY, or by CURVE HELLO and INITIATE ─▶ messages of one part, commands between them
//
// It has no socket and keeps no bytes: next() takes the received bytes, returns what they begin with, and is called
// again with the rest. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schemas/peers/public_key.h"
#include "schemas/peers/transport_counts.h"
#include "schemas/zmtp/curve_server.h"
#include "schemas/zmtp/frame.h"

namespace perfleet::zmtp {

class PeerProtocol {
public:
    // The counter of connections that end for the same reason; null: none.
    using EndReason = std::uint64_t TransportCounts::*;

    enum class Event : std::uint8_t {
        kNone,     // the next frame is incomplete
        kDone,     // handled; nothing to do
        kLater,    // a CURVE handshake that must wait for the next turn
        kKey,      // the peer has proved that it has `key`; accept() or refuse() must follow
        kMessage,  // `payload` is a message
        kEnd,      // the connection must be closed, for `end_reason`
    };
    struct Step {
        Event event = Event::kNone;
        std::size_t used_size_bytes = 0;     // of the input
        std::span<const std::byte> payload;  // in the input or in the turn; until the next call
        EndReason end_reason = nullptr;
        PublicKey key;
    };
    // Resources that a server lends to one peer after the other.
    struct Turn {
        std::size_t handshakes_left = 0;  // CURVE handshakes
        std::string replies;              // to send to this peer
        std::vector<std::byte> opened;    // payload of a CURVE message
    };

    // `keys` are borrowed; null: the mechanism NULL.
    PeerProtocol(const ServerKeys* keys, std::size_t message_size_bytes_max);

    // The greeting must be the first bytes sent to a peer.
    void append_greeting(std::string& out) const;

    [[nodiscard]] Step next(std::span<const std::byte> input, Turn& turn);
    // The size of the greeting or frame that begins with these bytes, as far as they contain it.
    [[nodiscard]] std::size_t announced_size_bytes(std::span<const std::byte> input) const;

    void accept(std::string& out);
    static void refuse(std::string& out);

    [[nodiscard]] bool is_ready() const { return phase_ == Phase::kReady; }
    // Precondition: the peer is ready.
    void append_message(std::string& out, std::span<const std::byte> payload);

    // Allows a new number of commands: they are limited between two calls.
    void forget_commands() { command_count_ = 0; }

private:
    enum class Phase : std::uint8_t { kGreeting, kHandshake, kReady };

    [[nodiscard]] Mechanism mechanism() const { return curve_ == nullptr ? Mechanism::kNull : Mechanism::kCurve; }
    [[nodiscard]] Step take_greeting(std::span<const std::byte> input, Turn& turn);
    [[nodiscard]] Step take_frame(const FrameHeader& header, std::span<const std::byte> body, Turn& turn);
    [[nodiscard]] Step take_handshake(std::span<const std::byte> body, Turn& turn);
    [[nodiscard]] Step take_curve_handshake(const Command& command, Turn& turn);
    [[nodiscard]] Step take_command(std::span<const std::byte> body, Turn& turn);

    std::unique_ptr<CurveServer> curve_;  // null: NULL
    std::size_t message_size_bytes_max_;
    std::uint32_t command_count_ = 0;
    Phase phase_ = Phase::kGreeting;
};

}  // namespace perfleet::zmtp
