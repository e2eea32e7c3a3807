#include "schemas/zmtp/testing/curve_client.h"

#include <sodium.h>

#include <algorithm>

#include "schemas/zmtp/curve_server.h"
#include "schemas/zmtp/frame.h"

namespace perfleet::zmtp {
namespace {

void append(std::string& out, std::span<const std::byte> bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

std::optional<CurveClient::Keys> CurveClient::decode(const ConnectKeys& keys) {
    const auto own = decode_server_keys(keys.own.public_text, keys.own.secret_text);
    if (!own.has_value()) {
        return std::nullopt;
    }
    return Keys{own->public_key, own->secret_key, keys.server.bytes};
}

void CurveClient::append_hello(std::string& out) {
    constexpr std::size_t kPaddingSizeBytes = 72;
    const std::array<unsigned char, 64> zeros{};
    crypto_box_keypair(own_short_public_.data(), own_short_secret_.data());
    const ShortNonce nonce = next_nonce();
    std::array<std::byte, zeros.size() + kMacSizeBytes> box{};
    (void)!crypto_box_easy(reinterpret_cast<unsigned char*>(box.data()), zeros.data(), zeros.size(),
                           nonce_of("CurveZMQHELLO---", nonce).data(), keys_.server.data(), own_short_secret_.data());
    std::string data{"\1\0", 2};
    data.append(kPaddingSizeBytes, '\0');
    append(data, std::as_bytes(std::span{own_short_public_}));
    append(data, nonce);
    append(data, box);
    append_command(out, "HELLO", std::as_bytes(std::span{data}));
}

bool CurveClient::take_welcome(std::span<const std::byte> data, std::string_view properties, std::string& out) {
    constexpr std::size_t kPlainSizeBytes = kKeySizeBytes + kCookieSizeBytes;
    std::array<std::byte, kPlainSizeBytes> plain{};
    if (data.size() != kLongNonceSizeBytes + kPlainSizeBytes + kMacSizeBytes ||
        crypto_box_open_easy(reinterpret_cast<unsigned char*>(plain.data()), raw(data) + kLongNonceSizeBytes,
                             kPlainSizeBytes + kMacSizeBytes,
                             nonce_of("WELCOME-", data.first(kLongNonceSizeBytes)).data(), keys_.server.data(),
                             own_short_secret_.data()) != 0) {
        return false;
    }
    std::copy_n(raw(plain), kKeySizeBytes, server_short_key_.begin());
    // The long-term key vouches for the short-term key, for this server.
    std::array<std::byte, kLongNonceSizeBytes + kVouchSizeBytes> vouch{};
    randombytes_buf(vouch.data(), kLongNonceSizeBytes);
    std::array<unsigned char, 2 * kKeySizeBytes> vouched{};
    std::copy(own_short_public_.begin(), own_short_public_.end(), vouched.begin());
    std::copy(keys_.server.begin(), keys_.server.end(), vouched.begin() + kKeySizeBytes);
    if (crypto_box_easy(reinterpret_cast<unsigned char*>(vouch.data()) + kLongNonceSizeBytes, vouched.data(),
                        vouched.size(), nonce_of("VOUCH---", std::span{vouch}.first(kLongNonceSizeBytes)).data(),
                        server_short_key_.data(), keys_.own_secret.data()) != 0 ||
        crypto_box_beforenm(shared_.data(), server_short_key_.data(), own_short_secret_.data()) != 0) {
        return false;
    }
    sodium_memzero(own_short_secret_.data(), own_short_secret_.size());
    std::string box;
    append(box, std::as_bytes(std::span{keys_.own_public}));
    append(box, vouch);
    box += properties;
    const std::size_t box_size = box.size();
    box.resize(box_size + kMacSizeBytes);
    auto* const in_place = reinterpret_cast<unsigned char*>(box.data());
    const ShortNonce nonce = next_nonce();
    crypto_box_easy_afternm(in_place, in_place, box_size, nonce_of("CurveZMQINITIATE", nonce).data(), shared_.data());
    std::string initiate;
    append(initiate, std::span{plain}.subspan(kKeySizeBytes));  // the cookie
    append(initiate, nonce);
    initiate += box;
    append_command(out, "INITIATE", std::as_bytes(std::span{initiate}));
    return true;
}

std::optional<std::string> CurveClient::take_ready(std::span<const std::byte> data) {
    if (data.size() < kShortNonceSizeBytes + kMacSizeBytes) {
        return std::nullopt;
    }
    const auto nonce = data.first(kShortNonceSizeBytes);
    const auto box = data.subspan(kShortNonceSizeBytes);
    std::string properties(box.size() - kMacSizeBytes, '\0');
    if (!take_nonce(nonce) ||
        crypto_box_open_easy_afternm(reinterpret_cast<unsigned char*>(properties.data()), raw(box), box.size(),
                                     nonce_of("CurveZMQREADY---", nonce).data(), shared_.data()) != 0) {
        return std::nullopt;
    }
    is_ready_ = true;
    return properties;
}

}  // namespace perfleet::zmtp
