// One connection of a ZMTP 3.1 DEALER over TCP, with CURVE (RFC 26) or without, for programs that hold thousands of
// them: a descriptor and some hundred bytes each, no threads, no timers, no lock. To the peer it is an ordinary ZeroMQ
// connection.
//
//   client                          server (libzmq)
//     greeting ──────────────────▶
//     ◀────────────────── greeting
//     HELLO ─────────────────────▶   with CURVE …
//     ◀─────────────────── WELCOME
//     INITIATE ──────────────────▶
//     ◀───────────────────── READY   … without: READY both ways
//     MESSAGE ◀──────────────────▶   each frame sealed in a box of its own
//
// Expects a peer that keeps to ZMTP: anything else is kEnded. One thread; nothing waits.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace perfleet {

using CurveKey = std::array<unsigned char, 32>;

struct CurveClientKeys {
    CurveKey server_public{};
    CurveKey own_public{};
    CurveKey own_secret{};
};

class ZmtpClient {
public:
    enum class State : std::uint8_t { kConnecting, kReady, kEnded };
    // A whole frame, borrowed until the call returns; aligned to 8.
    using FrameVisitor = std::function<void(std::span<const std::byte> frame)>;

    // `tcp://ADDRESS:PORT` with an IPv4 address. Nothing: it can't be parsed.
    [[nodiscard]] static std::optional<sockaddr_in> parse_endpoint(std::string_view endpoint);

    // Begins to connect. `keys` null: without CURVE; borrowed for the client's life.
    ZmtpClient(const sockaddr_in& address, const CurveClientKeys* keys);
    ~ZmtpClient();
    ZmtpClient(const ZmtpClient&) = delete;
    ZmtpClient& operator=(const ZmtpClient&) = delete;

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] int descriptor() const { return descriptor_; }  // -1: none could be opened

    // The descriptor became readable or writable: continues as far as possible.
    void advance(const FrameVisitor& visitor);

    // False: not ready, or the connection accepts no more now.
    [[nodiscard]] bool send(std::span<const std::byte> frame);
    // A PING, which the peer answers at once.
    [[nodiscard]] bool send_ping();

    // Whether anything was received since the last call, be it a frame or a PONG.
    [[nodiscard]] bool take_was_heard() { return std::exchange(was_heard_, false); }

private:
    struct Handshake;
    using Bytes = std::span<const unsigned char>;

    void end();
    void receive(const FrameVisitor& visitor);
    // Returns how many bytes of `bytes` were whole.
    std::size_t take(std::span<unsigned char> bytes, const FrameVisitor& visitor);
    void take_greeting(Bytes greeting);
    void take_handshake_command(Bytes body);
    void take_traffic(std::span<unsigned char> body, bool is_command, const FrameVisitor& visitor);
    void say_hello();
    void say_initiate(Bytes welcome);
    void write_command(Bytes body);
    [[nodiscard]] bool write_traffic(std::span<const std::byte> body, bool is_command);
    void write(Bytes bytes);
    void flush();

    const CurveClientKeys* keys_;
    int descriptor_ = -1;
    State state_ = State::kEnded;
    bool has_greeting_ = false;
    bool was_heard_ = false;
    std::unique_ptr<Handshake> handshake_;  // until it is ready
    CurveKey shared_{};
    std::uint64_t nonce_ = 1;
    std::vector<unsigned char> unsent_;
    std::vector<unsigned char> unread_;  // the beginning of a frame
};

}  // namespace perfleet
