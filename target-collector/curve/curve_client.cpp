#include "target-collector/curve/curve_client.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "target-collector/wire/zmtp_layout.h"

namespace perfleet {
namespace {

using curve::Key;
using curve::kKeySizeBytes;
using curve::kMacSizeBytes;
using curve::Nonce;

constexpr std::string_view kMessage{"\x07MESSAGE", 8};

// Both together have 24 bytes.
Nonce nonce_of(std::string_view prefix, std::span<const std::byte> rest) {
    Nonce nonce{};
    PERFLEET_ASSERT(prefix.size() + rest.size() == nonce.size());
    std::memcpy(nonce.data(), prefix.data(), prefix.size());
    std::memcpy(nonce.data() + prefix.size(), rest.data(), rest.size());
    return nonce;
}

void put_big_endian(std::uint64_t value, std::span<std::byte> into) {
    for (std::size_t i = 0; i < into.size(); ++i) {
        into[into.size() - 1 - i] = static_cast<std::byte>(value >> (8 * i));
    }
}

// Of a frame with this body; its size.
std::size_t put_header(std::uint8_t flags, std::size_t body_size_bytes, std::byte* into) {
    const bool is_long = body_size_bytes > 255;
    into[0] = static_cast<std::byte>(flags | (is_long ? zmtp_layout::kLong : 0));
    put_big_endian(body_size_bytes, {into + 1, is_long ? std::size_t{8} : std::size_t{1}});
    return is_long ? 9 : 2;
}

}  // namespace

CurveClient::CurveClient(const Keys& keys, const Key& seed, std::span<std::byte> memory)
    : keys_{keys}, own_public_{curve::public_key_of(keys.own_secret)}, random_{seed}, memory_{memory} {
    static_assert(kSealedOverheadBytes ==
                  zmtp_layout::kFrameHeaderSizeBytesMax + kMessage.size() + kShortNonceSizeBytes + kMacSizeBytes + 1);
}

std::optional<CurveClient::Keys> CurveClient::read_keys(std::span<const std::byte> bytes) {
    if (bytes.size() != kKeysSizeBytes) {
        return std::nullopt;
    }
    Keys keys{};
    std::memcpy(keys.gateway_public.data(), bytes.data(), kKeySizeBytes);
    std::memcpy(keys.own_secret.data(), bytes.data() + kKeySizeBytes, kKeySizeBytes);
    Key shared{};
    const bool are_keys = curve::share(keys.own_secret, keys.gateway_public, shared) && keys.own_secret != Key{};
    curve::wipe(shared);
    return are_keys ? std::optional{keys} : std::nullopt;
}

// -- frames of the handshake ------------------------------------------------------------------------------------------

std::span<std::byte> CurveClient::append_zeros(std::size_t size_bytes) {
    PERFLEET_ASSERT(size_bytes <= frame_.size() - frame_size_bytes_);
    const std::span<std::byte> part = std::span{frame_}.subspan(frame_size_bytes_, size_bytes);
    std::memset(part.data(), 0, part.size());
    frame_size_bytes_ += size_bytes;
    return part;
}

std::span<std::byte> CurveClient::append(std::span<const std::byte> bytes) {
    const std::span<std::byte> part = append_zeros(bytes.size());
    std::memcpy(part.data(), bytes.data(), bytes.size());
    return part;
}

std::span<const std::byte> CurveClient::append_nonce() {
    const std::span<std::byte> part = append_zeros(kShortNonceSizeBytes);
    put_big_endian(++own_nonce_, part);
    return part;
}

void CurveClient::begin_command(std::string_view name, std::size_t data_size_bytes) {
    frame_size_bytes_ = put_header(zmtp_layout::kCommand, 1 + name.size() + data_size_bytes, frame_.data());
    append_zeros(1)[0] = static_cast<std::byte>(name.size());
    (void)append(std::as_bytes(std::span{name}));
}

std::span<const std::byte> CurveClient::hello() {
    constexpr std::size_t kPaddingSizeBytes = 72;
    constexpr std::size_t kBoxSizeBytes = kMacSizeBytes + 64;
    short_secret_ = random_.take();
    short_public_ = curve::public_key_of(short_secret_);
    curve::wipe(shared_);
    own_nonce_ = 0;
    peer_nonce_ = 0;
    Key with_gateway{};
    PERFLEET_ASSERT(curve::share(short_secret_, keys_.gateway_public, with_gateway));
    begin_command("HELLO", 2 + kPaddingSizeBytes + kKeySizeBytes + kShortNonceSizeBytes + kBoxSizeBytes);
    append_zeros(2 + kPaddingSizeBytes)[0] = std::byte{1};  // version 1.0
    (void)append(short_public_);
    const auto nonce = append_nonce();
    curve::seal(append_zeros(kBoxSizeBytes), nonce_of("CurveZMQHELLO---", nonce), with_gateway);
    curve::wipe(with_gateway);
    return frame();
}

bool CurveClient::take_welcome(std::span<std::byte> data) {
    constexpr std::size_t kPlainSizeBytes = kKeySizeBytes + kCookieSizeBytes;
    if (data.size() != kLongNonceSizeBytes + kMacSizeBytes + kPlainSizeBytes) {
        return false;
    }
    Key with_gateway{};
    const std::span<std::byte> box = data.subspan(kLongNonceSizeBytes);
    const bool is_opened = curve::share(short_secret_, keys_.gateway_public, with_gateway) &&
                           curve::open(box, nonce_of("WELCOME-", data.first(kLongNonceSizeBytes)), with_gateway);
    curve::wipe(with_gateway);
    if (!is_opened) {
        return false;
    }
    std::memcpy(peer_short_public_.data(), box.data() + kMacSizeBytes, kKeySizeBytes);
    std::memcpy(cookie_.data(), box.data() + kMacSizeBytes + kKeySizeBytes, kCookieSizeBytes);
    return curve::share(short_secret_, peer_short_public_, shared_);
}

std::span<const std::byte> CurveClient::initiate(std::span<const std::byte> properties) {
    PERFLEET_ASSERT(properties.size() <= kPropertiesSizeBytesMax);
    const std::size_t box_size_bytes =
        kMacSizeBytes + kKeySizeBytes + kLongNonceSizeBytes + kVouchSizeBytes + properties.size();
    begin_command("INITIATE", kCookieSizeBytes + kShortNonceSizeBytes + box_size_bytes);
    (void)append(cookie_);
    const auto nonce = append_nonce();
    const std::size_t box_at = frame_size_bytes_;
    (void)append_zeros(kMacSizeBytes);
    (void)append(own_public_);
    // The long-term key vouches for the short-term key, for this gateway.
    const Key random = random_.take();
    const auto vouch_nonce = append(std::span{random}.first(kLongNonceSizeBytes));
    const std::span<std::byte> vouch = append_zeros(kVouchSizeBytes);
    std::memcpy(vouch.data() + kMacSizeBytes, short_public_.data(), kKeySizeBytes);
    std::memcpy(vouch.data() + kMacSizeBytes + kKeySizeBytes, keys_.gateway_public.data(), kKeySizeBytes);
    Key with_peer{};
    PERFLEET_ASSERT(curve::share(keys_.own_secret, peer_short_public_, with_peer));
    curve::seal(vouch, nonce_of("VOUCH---", vouch_nonce), with_peer);
    curve::wipe(with_peer);
    (void)append(properties);
    curve::seal(std::span{frame_}.subspan(box_at, box_size_bytes), nonce_of("CurveZMQINITIATE", nonce), shared_);
    curve::wipe(short_secret_);
    return frame();
}

std::optional<std::span<const std::byte>> CurveClient::take_ready(std::span<std::byte> data) {
    if (data.size() < kShortNonceSizeBytes + kMacSizeBytes) {
        return std::nullopt;
    }
    const auto nonce = data.first(kShortNonceSizeBytes);
    const auto box = data.subspan(kShortNonceSizeBytes);
    if (!take_nonce(nonce) || !curve::open(box, nonce_of("CurveZMQREADY---", nonce), shared_)) {
        return std::nullopt;
    }
    return box.subspan(kMacSizeBytes);
}

// -- messages ---------------------------------------------------------------------------------------------------------

bool CurveClient::take_nonce(std::span<const std::byte> nonce) {
    std::uint64_t value = 0;
    for (const std::byte byte : nonce) {
        value = value << 8 | std::to_integer<std::uint64_t>(byte);
    }
    const bool is_new = value > peer_nonce_;
    peer_nonce_ = is_new ? value : peer_nonce_;
    return is_new;
}

std::size_t CurveClient::seal(std::uint8_t flags, std::span<const std::byte> payload, std::span<std::byte> into) {
    PERFLEET_ASSERT(into.size() >= payload.size() + kSealedOverheadBytes);
    const std::size_t body_size_bytes = kMessage.size() + kShortNonceSizeBytes + kMacSizeBytes + 1 + payload.size();
    const std::size_t header_size_bytes = put_header(0, body_size_bytes, into.data());
    const std::span<std::byte> body = into.subspan(header_size_bytes, body_size_bytes);
    std::memcpy(body.data(), kMessage.data(), kMessage.size());
    const std::span<std::byte> nonce = body.subspan(kMessage.size(), kShortNonceSizeBytes);
    put_big_endian(++own_nonce_, nonce);
    const std::span<std::byte> box = body.subspan(kMessage.size() + kShortNonceSizeBytes);
    box[kMacSizeBytes] = static_cast<std::byte>(flags);
    if (!payload.empty()) {
        std::memcpy(box.data() + kMacSizeBytes + 1, payload.data(), payload.size());
    }
    curve::seal(box, nonce_of("CurveZMQMESSAGEC", nonce), shared_);
    return header_size_bytes + body_size_bytes;
}

std::optional<ZmtpMechanism::Opened> CurveClient::open(std::span<std::byte> body) {
    if (body.size() < kMessage.size() + kShortNonceSizeBytes + kMacSizeBytes + 1 ||
        std::memcmp(body.data(), kMessage.data(), kMessage.size()) != 0) {
        return std::nullopt;
    }
    const auto nonce = body.subspan(kMessage.size(), kShortNonceSizeBytes);
    const auto box = body.subspan(kMessage.size() + kShortNonceSizeBytes);
    if (!take_nonce(nonce) || !curve::open(box, nonce_of("CurveZMQMESSAGES", nonce), shared_)) {
        return std::nullopt;
    }
    return Opened{std::to_integer<std::uint8_t>(box[kMacSizeBytes]), box.subspan(kMacSizeBytes + 1)};
}

}  // namespace perfleet
