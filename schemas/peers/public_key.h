// A peer's public key: 32 bytes of Curve25519, written as Z85 (ZeroMQ RFC 32: 40 printable characters).
//
// Hosts only, no ZeroMQ.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

inline constexpr std::size_t kCurveKeySizeBytes = 32;
inline constexpr std::size_t kCurveKeyTextSize = 40;

struct PublicKey {
    std::array<unsigned char, kCurveKeySizeBytes> bytes{};

    friend bool operator==(const PublicKey&, const PublicKey&) = default;

    // Keys are as good as random: any eight bytes are a hash.
    struct Hash {
        std::size_t operator()(const PublicKey& key) const {
            std::size_t hash = 0;
            std::memcpy(&hash, key.bytes.data(), sizeof hash);
            return hash;
        }
    };
};

// Nothing if `text` isn't 40 characters of Z85, or a group of five characters exceeds 32 bits.
[[nodiscard]] std::optional<PublicKey> decode_public_key(std::string_view text);
[[nodiscard]] std::string encode_public_key(const PublicKey& key);

}  // namespace perfleet
