// The server's side of CurveZMQ (ZeroMQ RFC 26) for one connection, by libsodium: authenticates the peer.
//
//   peer → HELLO     1 0 │ 72 × 0 │ C' │ nonce 8 │ box[64 × 0](C'→S)                       200 bytes with the name
//        ← WELCOME   nonce 16 │ box[S' │ cookie 96](S→C')                                  168
//        → INITIATE  cookie 96 │ nonce 8 │ box[C │ nonce 16 │ vouch 80 │ properties](C'→S')
//        ← READY     nonce 8 │ box[properties](S'→C')
//
// The cookie carries no state, because each connection keeps its own: it is only compared. One thread per connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/peers/public_key.h"
#include "schemas/zmtp/curve_session.h"

namespace perfleet::zmtp {

// A server's pair of keys, decoded. Shared by its connections.
struct ServerKeys {
    std::array<unsigned char, 32> public_key{};
    std::array<unsigned char, 32> secret_key{};
};
// From Z85, 40 characters each. Nothing: not Z85, or the keys don't belong together.
[[nodiscard]] std::optional<ServerKeys> decode_server_keys(std::string_view public_text, std::string_view secret_text);

class CurveServer final : public CurveSession {
public:
    explicit CurveServer(const ServerKeys& keys) : CurveSession{"CurveZMQMESSAGES", "CurveZMQMESSAGEC"}, keys_{keys} {}

    // `data` of the peer's command. True: the answer's frame was appended to `out`. False: the peer must be
    // disconnected.
    [[nodiscard]] bool take_hello(std::span<const std::byte> data, std::string& out);

    struct Peer {
        PublicKey key;           // the peer has proved that it has the secret one
        std::string properties;  // its socket's properties
    };
    // Nothing: the peer must be disconnected. Otherwise append_ready() may follow.
    [[nodiscard]] std::optional<Peer> take_initiate(std::span<const std::byte> data);
    void append_ready(std::string& out);

private:
    enum class Step : std::uint8_t { kHello, kInitiate, kReady };

    const ServerKeys& keys_;
    Step step_ = Step::kHello;
    Key peer_short_key_{};  // C'
    std::array<unsigned char, kCookieSizeBytes> cookie_{};
};

}  // namespace perfleet::zmtp
