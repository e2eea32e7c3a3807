#include "schemas/zmtp/curve_session.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "schemas/zmtp/frame.h"

namespace perfleet::zmtp {
namespace {

constexpr std::string_view kMessageName{"\x07MESSAGE", 8};

}  // namespace

CurveSession::~CurveSession() {
    sodium_memzero(own_short_secret_.data(), own_short_secret_.size());
    sodium_memzero(shared_.data(), shared_.size());
}

CurveSession::Nonce CurveSession::nonce_of(std::string_view prefix, std::span<const std::byte> rest) {
    Nonce nonce{};
    static_assert(nonce.size() == crypto_box_NONCEBYTES && kKeySizeBytes == crypto_box_PUBLICKEYBYTES &&
                  kMacSizeBytes == crypto_box_MACBYTES &&
                  kMessageOverheadBytes == kMessageName.size() + kShortNonceSizeBytes + kMacSizeBytes + 1);
    PERFLEET_ASSERT(prefix.size() + rest.size() == nonce.size());
    std::memcpy(nonce.data(), prefix.data(), prefix.size());
    std::memcpy(nonce.data() + prefix.size(), rest.data(), rest.size());
    return nonce;
}

CurveSession::ShortNonce CurveSession::next_nonce() {
    ++own_nonce_;
    ShortNonce bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes.at(bytes.size() - 1 - i) = static_cast<std::byte>(own_nonce_ >> (8 * i) & 0xffU);
    }
    return bytes;
}

bool CurveSession::take_nonce(std::span<const std::byte> nonce) {
    std::uint64_t value = 0;
    for (const std::byte byte : nonce) {
        value = value << 8U | std::to_integer<std::uint64_t>(byte);
    }
    const bool is_new = value > peer_nonce_;
    peer_nonce_ = std::max(peer_nonce_, value);
    return is_new;
}

std::optional<CurveSession::Opened> CurveSession::open(std::span<const std::byte> body, std::span<std::byte> space) {
    PERFLEET_ASSERT(is_ready_ && space.size() >= body.size());
    if (body.size() < kMessageOverheadBytes ||
        std::memcmp(body.data(), kMessageName.data(), kMessageName.size()) != 0) {
        return std::nullopt;
    }
    const auto short_nonce = body.subspan(kMessageName.size(), kShortNonceSizeBytes);
    const auto box = body.subspan(kMessageName.size() + kShortNonceSizeBytes);
    auto* const plain = reinterpret_cast<unsigned char*>(space.data());
    if (!take_nonce(short_nonce) ||
        crypto_box_open_easy_afternm(plain, raw(box), box.size(), nonce_of(peer_prefix_, short_nonce).data(),
                                     shared_.data()) != 0) {
        return std::nullopt;
    }
    return Opened{plain[0], space.subspan(1, box.size() - kMacSizeBytes - 1)};
}

void CurveSession::append_message(std::string& out, std::uint8_t flags, std::span<const std::byte> payload) {
    PERFLEET_ASSERT(is_ready_);
    const auto short_nonce = next_nonce();
    append_frame_header(out, 0, kMessageOverheadBytes + payload.size());
    out += kMessageName;
    out.append(reinterpret_cast<const char*>(short_nonce.data()), short_nonce.size());
    const std::size_t box_at = out.size();
    // Encrypts in place: box and plaintext may begin at the same address.
    out += static_cast<char>(flags);
    out.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    out.resize(out.size() + kMacSizeBytes);
    auto* const box = reinterpret_cast<unsigned char*>(out.data()) + box_at;
    crypto_box_easy_afternm(box, box, 1 + payload.size(), nonce_of(own_prefix_, short_nonce).data(), shared_.data());
}

}  // namespace perfleet::zmtp
