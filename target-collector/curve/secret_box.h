// CurveZMQ's encryption (NaCl's crypto_box: X25519, XSalsa20, Poly1305), over memory of the caller.
//
// Freestanding; no state but RandomStream's. On hosts libsodium computes, on targets its portable sources.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace perfleet::curve {

inline constexpr std::size_t kKeySizeBytes = 32;
inline constexpr std::size_t kNonceSizeBytes = 24;
inline constexpr std::size_t kMacSizeBytes = 16;

using Key = std::array<std::byte, kKeySizeBytes>;
using Nonce = std::array<std::byte, kNonceSizeBytes>;

[[nodiscard]] Key public_key_of(const Key& secret);

// The key that two pairs share. False: `peer_public` isn't a valid key.
[[nodiscard]] bool share(const Key& own_secret, const Key& peer_public, Key& into);

// Encrypts `box` in place, behind its first kMacSizeBytes, which become the MAC.
void seal(std::span<std::byte> box, const Nonce& nonce, const Key& shared);
// Decrypts in place the bytes after the MAC. False: the bytes were changed, or sealed with other keys; nothing is
// decrypted.
[[nodiscard]] bool open(std::span<std::byte> box, const Nonce& nonce, const Key& shared);

void wipe(std::span<std::byte> secret);

// Random bytes from a seed of as much entropy. Its state doesn't reveal bytes that were taken before.
class RandomStream {
public:
    explicit RandomStream(const Key& seed) : state_{seed} {}
    ~RandomStream() { wipe(state_); }
    RandomStream(const RandomStream&) = delete;
    RandomStream& operator=(const RandomStream&) = delete;

    [[nodiscard]] Key take();

private:
    Key state_;
};

}  // namespace perfleet::curve
