#include "schemas/zmtp/curve_server.h"

#include <sodium.h>

#include <algorithm>

#include "schemas/vocabulary/assert.h"
#include "schemas/zmtp/frame.h"

namespace perfleet::zmtp {
std::optional<ServerKeys> decode_server_keys(std::string_view public_text, std::string_view secret_text) {
    const auto public_key = decode_public_key(public_text);
    const auto secret_key = decode_public_key(secret_text);
    ServerKeys keys;
    if (!public_key.has_value() || !secret_key.has_value() || sodium_init() < 0 ||
        crypto_scalarmult_base(keys.public_key.data(), secret_key->bytes.data()) != 0 ||
        keys.public_key != public_key->bytes) {
        return std::nullopt;
    }
    keys.secret_key = secret_key->bytes;
    return keys;
}

bool CurveServer::take_hello(std::span<const std::byte> data, std::string& out) {
    constexpr std::size_t kPaddingSizeBytes = 72;
    constexpr std::size_t kSignedSizeBytes = 64;
    constexpr std::size_t kKeyAt = 2 + kPaddingSizeBytes;
    constexpr std::size_t kNonceAt = kKeyAt + kKeySizeBytes;
    constexpr std::size_t kBoxAt = kNonceAt + kShortNonceSizeBytes;
    constexpr std::size_t kBoxSizeBytes = kSignedSizeBytes + kMacSizeBytes;
    if (step_ != Step::kHello || data.size() != kBoxAt + kBoxSizeBytes || data[0] != std::byte{1} ||
        data[1] != std::byte{0}) {
        return false;
    }
    std::copy_n(raw(data) + kKeyAt, kKeySizeBytes, peer_short_key_.begin());
    const auto short_nonce = data.subspan(kNonceAt, kShortNonceSizeBytes);
    std::array<unsigned char, kSignedSizeBytes> zeros{};
    if (!take_nonce(short_nonce) ||
        crypto_box_open_easy(zeros.data(), raw(data) + kBoxAt, kBoxSizeBytes,
                             nonce_of("CurveZMQHELLO---", short_nonce).data(), peer_short_key_.data(),
                             keys_.secret_key.data()) != 0 ||
        std::any_of(zeros.begin(), zeros.end(), [](unsigned char byte) { return byte != 0; })) {
        return false;
    }
    crypto_box_keypair(own_short_public_.data(), own_short_secret_.data());
    randombytes_buf(cookie_.data(), cookie_.size());

    std::array<unsigned char, kKeySizeBytes + kCookieSizeBytes> plain{};
    std::copy(own_short_public_.begin(), own_short_public_.end(), plain.begin());
    std::copy(cookie_.begin(), cookie_.end(), plain.begin() + kKeySizeBytes);
    std::array<std::byte, kLongNonceSizeBytes + plain.size() + kMacSizeBytes> answer{};
    randombytes_buf(answer.data(), kLongNonceSizeBytes);
    const Nonce nonce = nonce_of("WELCOME-", std::span{answer}.first(kLongNonceSizeBytes));
    if (crypto_box_easy(reinterpret_cast<unsigned char*>(answer.data()) + kLongNonceSizeBytes, plain.data(),
                        plain.size(), nonce.data(), peer_short_key_.data(), keys_.secret_key.data()) != 0) {
        return false;
    }
    append_command(out, "WELCOME", answer);
    step_ = Step::kInitiate;
    return true;
}

std::optional<CurveServer::Peer> CurveServer::take_initiate(std::span<const std::byte> data) {
    constexpr std::size_t kBoxAt = kCookieSizeBytes + kShortNonceSizeBytes;
    constexpr std::size_t kVouchNonceAt = kKeySizeBytes;
    constexpr std::size_t kVouchAt = kVouchNonceAt + kLongNonceSizeBytes;
    constexpr std::size_t kPropertiesAt = kVouchAt + kVouchSizeBytes;
    if (step_ != Step::kInitiate || data.size() < kBoxAt + kMacSizeBytes + kPropertiesAt ||
        sodium_memcmp(data.data(), cookie_.data(), kCookieSizeBytes) != 0) {
        return std::nullopt;
    }
    const auto short_nonce = data.subspan(kCookieSizeBytes, kShortNonceSizeBytes);
    const auto box = data.subspan(kBoxAt);
    std::string plain(box.size() - kMacSizeBytes, '\0');
    auto* const opened = reinterpret_cast<unsigned char*>(plain.data());
    if (!take_nonce(short_nonce) ||
        crypto_box_beforenm(shared_.data(), peer_short_key_.data(), own_short_secret_.data()) != 0 ||
        crypto_box_open_easy_afternm(opened, raw(box), box.size(), nonce_of("CurveZMQINITIATE", short_nonce).data(),
                                     shared_.data()) != 0) {
        return std::nullopt;
    }
    // The vouch proves that the short-term key belongs to the peer's long-term key, for this server.
    Peer peer;
    std::copy_n(opened, kKeySizeBytes, peer.key.bytes.begin());
    const auto vouch_nonce = std::as_bytes(std::span{plain}).subspan(kVouchNonceAt, kLongNonceSizeBytes);
    std::array<unsigned char, 2 * kKeySizeBytes> vouched{};
    if (crypto_box_open_easy(vouched.data(), opened + kVouchAt, kVouchSizeBytes,
                             nonce_of("VOUCH---", vouch_nonce).data(), peer.key.bytes.data(),
                             own_short_secret_.data()) != 0 ||
        sodium_memcmp(vouched.data(), peer_short_key_.data(), kKeySizeBytes) != 0 ||
        sodium_memcmp(vouched.data() + kKeySizeBytes, keys_.public_key.data(), kKeySizeBytes) != 0) {
        return std::nullopt;
    }
    peer.properties = plain.substr(kPropertiesAt);
    sodium_memzero(own_short_secret_.data(), own_short_secret_.size());
    step_ = Step::kReady;
    is_ready_ = true;
    return peer;
}

void CurveServer::append_ready(std::string& out) {
    PERFLEET_ASSERT(step_ == Step::kReady);
    const std::string properties = properties_of("ROUTER");
    const auto short_nonce = next_nonce();
    std::string data{reinterpret_cast<const char*>(short_nonce.data()), short_nonce.size()};
    data.resize(kShortNonceSizeBytes + properties.size() + kMacSizeBytes);
    crypto_box_easy_afternm(reinterpret_cast<unsigned char*>(data.data()) + kShortNonceSizeBytes,
                            reinterpret_cast<const unsigned char*>(properties.data()), properties.size(),
                            nonce_of("CurveZMQREADY---", short_nonce).data(), shared_.data());
    append_command(out, "READY", std::as_bytes(std::span{data}));
}

}  // namespace perfleet::zmtp
