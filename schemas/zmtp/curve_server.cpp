#include "schemas/zmtp/curve_server.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "schemas/zmtp/frame.h"

namespace perfleet::zmtp {
namespace {

constexpr std::size_t kShortNonceSizeBytes = 8;
constexpr std::size_t kLongNonceSizeBytes = 16;
constexpr std::size_t kKeySizeBytes = crypto_box_PUBLICKEYBYTES;
constexpr std::size_t kMacSizeBytes = crypto_box_MACBYTES;
constexpr std::size_t kVouchSizeBytes = 2 * kKeySizeBytes + kMacSizeBytes;
constexpr std::string_view kMessageName{"\x07MESSAGE", 8};
static_assert(kKeySizeBytes == kCurveKeySizeBytes);
static_assert(CurveServer::kMessageOverheadBytes == 8 + kShortNonceSizeBytes + kMacSizeBytes + 1);

using Nonce = std::array<unsigned char, crypto_box_NONCEBYTES>;

const unsigned char* raw(std::span<const std::byte> bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

// `prefix` and `rest` make 24 bytes.
Nonce nonce_of(std::string_view prefix, std::span<const std::byte> rest) {
    Nonce nonce{};
    PERFLEET_ASSERT(prefix.size() + rest.size() == nonce.size());
    std::memcpy(nonce.data(), prefix.data(), prefix.size());
    std::memcpy(nonce.data() + prefix.size(), rest.data(), rest.size());
    return nonce;
}

std::array<std::byte, kShortNonceSizeBytes> big_endian(std::uint64_t value) {
    std::array<std::byte, kShortNonceSizeBytes> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes.at(bytes.size() - 1 - i) = static_cast<std::byte>(value >> (8 * i) & 0xffU);
    }
    return bytes;
}

}  // namespace

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

CurveServer::~CurveServer() {
    sodium_memzero(own_short_secret_.data(), own_short_secret_.size());
    sodium_memzero(shared_.data(), shared_.size());
}

bool CurveServer::take_nonce(std::span<const std::byte> nonce) {
    std::uint64_t value = 0;
    for (const std::byte byte : nonce) {
        value = value << 8U | std::to_integer<std::uint64_t>(byte);
    }
    const bool is_new = value > peer_nonce_;
    peer_nonce_ = std::max(peer_nonce_, value);
    return is_new;
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
    // The peer's long-term key vouches for the short-term one, for this server.
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
    return peer;
}

void CurveServer::append_ready(std::string& out) {
    PERFLEET_ASSERT(step_ == Step::kReady);
    const std::string properties = router_properties();
    const auto short_nonce = big_endian(++own_nonce_);
    std::string data{reinterpret_cast<const char*>(short_nonce.data()), short_nonce.size()};
    data.resize(kShortNonceSizeBytes + properties.size() + kMacSizeBytes);
    crypto_box_easy_afternm(reinterpret_cast<unsigned char*>(data.data()) + kShortNonceSizeBytes,
                            reinterpret_cast<const unsigned char*>(properties.data()), properties.size(),
                            nonce_of("CurveZMQREADY---", short_nonce).data(), shared_.data());
    append_command(out, "READY", std::as_bytes(std::span{data}));
}

std::optional<CurveServer::Opened> CurveServer::open(std::span<const std::byte> body, std::span<std::byte> space) {
    PERFLEET_ASSERT(step_ == Step::kReady && space.size() >= body.size());
    if (body.size() < kMessageOverheadBytes ||
        std::memcmp(body.data(), kMessageName.data(), kMessageName.size()) != 0) {
        return std::nullopt;
    }
    const auto short_nonce = body.subspan(kMessageName.size(), kShortNonceSizeBytes);
    const auto box = body.subspan(kMessageName.size() + kShortNonceSizeBytes);
    auto* const plain = reinterpret_cast<unsigned char*>(space.data());
    if (!take_nonce(short_nonce) ||
        crypto_box_open_easy_afternm(plain, raw(box), box.size(), nonce_of("CurveZMQMESSAGEC", short_nonce).data(),
                                     shared_.data()) != 0) {
        return std::nullopt;
    }
    return Opened{plain[0], space.subspan(1, box.size() - kMacSizeBytes - 1)};
}

void CurveServer::append_message(std::string& out, std::uint8_t flags, std::span<const std::byte> payload) {
    PERFLEET_ASSERT(step_ == Step::kReady);
    const auto short_nonce = big_endian(++own_nonce_);
    append_frame_header(out, 0, kMessageOverheadBytes + payload.size());
    out += kMessageName;
    out.append(reinterpret_cast<const char*>(short_nonce.data()), short_nonce.size());
    const std::size_t box_at = out.size();
    // In place: the box may begin where its text begins.
    out += static_cast<char>(flags);
    out.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    out.resize(out.size() + kMacSizeBytes);
    auto* const box = reinterpret_cast<unsigned char*>(out.data()) + box_at;
    crypto_box_easy_afternm(box, box, 1 + payload.size(), nonce_of("CurveZMQMESSAGES", short_nonce).data(),
                            shared_.data());
}

}  // namespace perfleet::zmtp
