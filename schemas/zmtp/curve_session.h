// What both sides of CurveZMQ (ZeroMQ RFC 26) do after the handshake, by libsodium: frames that others can't read or
// change.
//
//   MESSAGE   nonce 8 │ box[flags │ payload]
//
// Nonces of a peer only increase. Secrets are wiped by the destructor. One thread per connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet::zmtp {

class CurveSession : NonCopyable {
public:
    static constexpr std::size_t kMessageOverheadBytes = 33;  // of a body: name, nonce, MAC and flags

    // Flags inside a MESSAGE, which differ from those of a frame. On the wire: must not change.
    static constexpr std::uint8_t kMoreInside = 1;
    static constexpr std::uint8_t kCommandInside = 2;

    // Call it after READY. Decrypts the body of a MESSAGE frame into flags and payload; the payload is in `space` (as
    // large as the body) until the next call.
    struct Opened {
        std::uint8_t flags = 0;  // kMoreInside, kCommandInside
        std::span<const std::byte> payload;
    };
    [[nodiscard]] std::optional<Opened> open(std::span<const std::byte> body, std::span<std::byte> space);
    void append_message(std::string& out, std::uint8_t flags, std::span<const std::byte> payload);

protected:
    static constexpr std::size_t kKeySizeBytes = 32;
    static constexpr std::size_t kMacSizeBytes = 16;
    static constexpr std::size_t kShortNonceSizeBytes = 8;
    static constexpr std::size_t kLongNonceSizeBytes = 16;
    static constexpr std::size_t kCookieSizeBytes = 96;
    static constexpr std::size_t kVouchSizeBytes = 2 * kKeySizeBytes + kMacSizeBytes;
    using Key = std::array<unsigned char, kKeySizeBytes>;
    using Nonce = std::array<unsigned char, 24>;
    using ShortNonce = std::array<std::byte, kShortNonceSizeBytes>;

    // The prefixes of nonces in MESSAGE, of this side and the peer.
    CurveSession(std::string_view own_prefix, std::string_view peer_prefix)
        : own_prefix_{own_prefix}, peer_prefix_{peer_prefix} {}
    ~CurveSession();

    // The type that libsodium takes.
    [[nodiscard]] static const unsigned char* raw(std::span<const std::byte> bytes) {
        return reinterpret_cast<const unsigned char*>(bytes.data());
    }
    // `prefix` and `rest` together have 24 bytes.
    [[nodiscard]] static Nonce nonce_of(std::string_view prefix, std::span<const std::byte> rest);
    // False if the nonce isn't greater than all before.
    [[nodiscard]] bool take_nonce(std::span<const std::byte> nonce);
    [[nodiscard]] ShortNonce next_nonce();

    Key own_short_public_{};
    Key own_short_secret_{};
    Key shared_{};  // from both short-term keys, precomputed
    bool is_ready_ = false;

private:
    std::string_view own_prefix_;
    std::string_view peer_prefix_;
    std::uint64_t peer_nonce_ = 0;
    std::uint64_t own_nonce_ = 0;
};

}  // namespace perfleet::zmtp
