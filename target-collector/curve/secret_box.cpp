#include "target-collector/curve/secret_box.h"

#include <cstdint>
#include <cstring>

// libsodium's functions. Its header would include all of the library.
extern "C" {
int crypto_core_salsa20(unsigned char* out_64, const unsigned char* in_16, const unsigned char* key_32,
                        const unsigned char* constant_16);
int crypto_core_hsalsa20(unsigned char* out_32, const unsigned char* in_16, const unsigned char* key_32,
                         const unsigned char* constant_16);
int crypto_onetimeauth_poly1305(unsigned char* out_16, const unsigned char* in, unsigned long long size,
                                const unsigned char* key_32);
int crypto_scalarmult_curve25519(unsigned char* out_32, const unsigned char* secret_32, const unsigned char* point_32);
}

namespace perfleet::curve {
namespace {

constexpr std::size_t kBlockSizeBytes = 64;
using Mac = std::array<std::byte, kMacSizeBytes>;

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

// XSalsa20's stream of a nonce: its first 32 bytes are Poly1305's key, the rest is for the text.
class Stream {
public:
    Stream(const Nonce& nonce, const Key& shared) {
        (void)crypto_core_hsalsa20(raw(subkey_.data()), raw(nonce.data()), raw(shared.data()), nullptr);
        std::memcpy(input_.data(), nonce.data() + 16, 8);
        next();
        std::memcpy(mac_key_.data(), block_.data(), mac_key_.size());
    }
    ~Stream() {
        wipe(subkey_);
        wipe(block_);
        wipe(mac_key_);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // The MAC of the ciphertext.
    [[nodiscard]] Mac authenticate(std::span<const std::byte> text) const {
        Mac mac{};
        (void)crypto_onetimeauth_poly1305(raw(mac.data()), raw(text.data()), text.size(), raw(mac_key_.data()));
        return mac;
    }
    void apply(std::span<std::byte> text) {
        std::size_t at = kKeySizeBytes;
        for (std::byte& byte : text) {
            if (at == kBlockSizeBytes) {
                next();
                at = 0;
            }
            byte ^= block_[at++];
        }
    }

private:
    void next() {
        for (std::size_t i = 0; i < 8; ++i) {
            input_[8 + i] = static_cast<std::byte>(number_ >> (8 * i));
        }
        ++number_;
        (void)crypto_core_salsa20(raw(block_.data()), raw(input_.data()), raw(subkey_.data()), nullptr);
    }

    Key subkey_{};
    Key mac_key_{};
    std::array<std::byte, 16> input_{};
    std::array<std::byte, kBlockSizeBytes> block_{};
    std::uint64_t number_ = 0;
};

}  // namespace

Key public_key_of(const Key& secret) {
    // Not the function for the base point: its tables have 34 KB.
    const Key base{std::byte{9}};
    Key key{};
    (void)crypto_scalarmult_curve25519(raw(key.data()), raw(secret.data()), raw(base.data()));
    return key;
}

bool share(const Key& own_secret, const Key& peer_public, Key& into) {
    Key product{};
    if (crypto_scalarmult_curve25519(raw(product.data()), raw(own_secret.data()), raw(peer_public.data())) != 0) {
        return false;
    }
    const std::array<std::byte, 16> zeros{};
    (void)crypto_core_hsalsa20(raw(into.data()), raw(zeros.data()), raw(product.data()), nullptr);
    wipe(product);
    return true;
}

void seal(std::span<std::byte> box, const Nonce& nonce, const Key& shared) {
    Stream stream{nonce, shared};
    const std::span<std::byte> text = box.subspan(kMacSizeBytes);
    stream.apply(text);
    const Mac mac = stream.authenticate(text);
    std::memcpy(box.data(), mac.data(), mac.size());
}

bool open(std::span<std::byte> box, const Nonce& nonce, const Key& shared) {
    if (box.size() < kMacSizeBytes) {
        return false;
    }
    Stream stream{nonce, shared};
    const std::span<std::byte> text = box.subspan(kMacSizeBytes);
    const Mac mac = stream.authenticate(text);
    std::byte difference{};
    for (std::size_t i = 0; i < mac.size(); ++i) {
        difference |= mac[i] ^ box[i];
    }
    if (difference != std::byte{}) {
        return false;
    }
    stream.apply(text);
    return true;
}

void wipe(std::span<std::byte> secret) {
    for (std::byte& byte : secret) {
        *static_cast<volatile std::byte*>(&byte) = std::byte{};
    }
}

Key RandomStream::take() {
    std::array<std::byte, kBlockSizeBytes> block{};
    const std::array<std::byte, 16> zeros{};
    (void)crypto_core_salsa20(raw(block.data()), raw(zeros.data()), raw(state_.data()), nullptr);
    Key taken{};
    std::memcpy(state_.data(), block.data(), state_.size());
    std::memcpy(taken.data(), block.data() + state_.size(), taken.size());
    wipe(block);
    return taken;
}

}  // namespace perfleet::curve
