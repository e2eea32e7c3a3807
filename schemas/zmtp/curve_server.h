// The server's side of CurveZMQ (ZeroMQ RFC 26) for one connection, by libsodium: who the peer is, and frames that
// nobody else reads or changes.
//
//   peer → HELLO     1 0 │ 72 × 0 │ C' │ nonce 8 │ box[64 × 0](C'→S)                       200 bytes with the name
//        ← WELCOME   nonce 16 │ box[S' │ cookie 96](S→C')                                  168
//        → INITIATE  cookie 96 │ nonce 8 │ box[C │ nonce 16 │ vouch 80 │ properties](C'→S')
//        ← READY     nonce 8 │ box[properties](S'→C')
//      ⇄   MESSAGE   nonce 8 │ box[flags │ payload]
//
// The cookie is no state of the peer's here, for each connection keeps its own: it is compared, nothing more. Nonces of
// a peer only grow. Secrets are wiped with the object. One thread a connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/peers/public_key.h"

namespace perfleet::zmtp {

// A server's pair of keys, decoded. Shared by its connections.
struct ServerKeys {
    std::array<unsigned char, 32> public_key{};
    std::array<unsigned char, 32> secret_key{};
};
// From Z85, of 40 characters each. Nothing: not Z85, or the secret key isn't that of the public one.
[[nodiscard]] std::optional<ServerKeys> decode_server_keys(std::string_view public_text, std::string_view secret_text);

class CurveServer {
public:
    static constexpr std::size_t kMessageOverheadBytes = 33;  // of a body: name, nonce, MAC and flags

    explicit CurveServer(const ServerKeys& keys) : keys_{keys} {}
    CurveServer(const CurveServer&) = delete;
    CurveServer& operator=(const CurveServer&) = delete;
    ~CurveServer();

    // `data` of the peer's command. True: `out` got the answer's frame. False: the peer is to be closed.
    [[nodiscard]] bool take_hello(std::span<const std::byte> data, std::string& out);

    struct Peer {
        PublicKey key;           // it has the secret one
        std::string properties;  // of its socket
    };
    // Nothing: the peer is to be closed. Otherwise welcome() may follow.
    [[nodiscard]] std::optional<Peer> take_initiate(std::span<const std::byte> data);
    void append_ready(std::string& out);

    // After READY. The body of a MESSAGE frame into flags and payload, which stays in `space` (as large as the body)
    // until the next call.
    struct Opened {
        std::uint8_t flags = 0;  // kMoreInside, kCommandInside
        std::span<const std::byte> payload;
    };
    [[nodiscard]] std::optional<Opened> open(std::span<const std::byte> body, std::span<std::byte> space);
    void append_message(std::string& out, std::uint8_t flags, std::span<const std::byte> payload);

    // In a MESSAGE, not as in a frame. On the wire: must not change.
    static constexpr std::uint8_t kMoreInside = 1;
    static constexpr std::uint8_t kCommandInside = 2;

private:
    static constexpr std::size_t kCookieSizeBytes = 96;
    enum class Step : std::uint8_t { kHello, kInitiate, kReady };

    [[nodiscard]] bool take_nonce(std::span<const std::byte> nonce);

    const ServerKeys& keys_;
    Step step_ = Step::kHello;
    std::uint64_t peer_nonce_ = 0;
    std::uint64_t own_nonce_ = 0;
    std::array<unsigned char, 32> peer_short_key_{};  // C'
    std::array<unsigned char, 32> own_short_public_{};
    std::array<unsigned char, 32> own_short_secret_{};
    std::array<unsigned char, 32> shared_{};  // C' and S' precomputed
    std::array<unsigned char, kCookieSizeBytes> cookie_{};
};

}  // namespace perfleet::zmtp
