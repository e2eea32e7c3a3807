// The server's side of CurveZMQ (ZeroMQ RFC 26) for one connection, by libsodium: who the peer is.
//
//   peer → HELLO     1 0 │ 72 × 0 │ C' │ nonce 8 │ box[64 × 0](C'→S)                       200 bytes with the name
//        ← WELCOME   nonce 16 │ box[S' │ cookie 96](S→C')                                  168
//        → INITIATE  cookie 96 │ nonce 8 │ box[C │ nonce 16 │ vouch 80 │ properties](C'→S')
//        ← READY     nonce 8 │ box[properties](S'→C')
//
// The cookie is no state of the peer's here, for each connection keeps its own: it is compared, nothing more. One
// thread a connection.
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
// From Z85, of 40 characters each. Nothing: not Z85, or the secret key isn't that of the public one.
[[nodiscard]] std::optional<ServerKeys> decode_server_keys(std::string_view public_text, std::string_view secret_text);

class CurveServer final : public CurveSession {
public:
    explicit CurveServer(const ServerKeys& keys) : CurveSession{"CurveZMQMESSAGES", "CurveZMQMESSAGEC"}, keys_{keys} {}

    // `data` of the peer's command. True: `out` got the answer's frame. False: the peer is to be closed.
    [[nodiscard]] bool take_hello(std::span<const std::byte> data, std::string& out);

    struct Peer {
        PublicKey key;           // it has the secret one
        std::string properties;  // of its socket
    };
    // Nothing: the peer is to be closed. Otherwise welcome() may follow.
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
