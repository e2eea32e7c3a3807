#include "schemas/peers/zap.h"

#include <cstring>
#include <optional>

namespace perfleet {
namespace {

constexpr std::size_t kRequest = 1;
constexpr std::size_t kDomain = 2;
constexpr std::size_t kMechanism = 5;
constexpr std::size_t kKey = 6;
constexpr std::size_t kFrameCount = 7;
constexpr const char* kVersion = "1.0";

std::optional<PublicKey> key_of(std::span<const std::string> request) {
    if (request.size() != kFrameCount || request[0] != kVersion || request[kDomain] != kZapDomain ||
        request[kMechanism] != "CURVE" || request[kKey].size() != kCurveKeySizeBytes) {
        return std::nullopt;
    }
    PublicKey key;
    std::memcpy(key.bytes.data(), request[kKey].data(), kCurveKeySizeBytes);
    return key;
}

}  // namespace

ZapReply answer_zap(std::span<const std::string> request, const KeySet& allowed) {
    ZapReply reply;
    const std::string number = request.size() > kRequest ? request[kRequest] : std::string{};
    const auto key = key_of(request);
    if (!key.has_value()) {
        reply.verdict = ZapVerdict::kMalformed;
        reply.frames = {kVersion, number, "500", "malformed", "", ""};
    } else if (allowed.find(*key) == nullptr) {
        reply.verdict = ZapVerdict::kUnknownKey;
        reply.frames = {kVersion, number, "400", "unknown key", "", ""};
    } else {
        reply.verdict = ZapVerdict::kAllowed;
        reply.frames = {kVersion, number, "200", "OK", encode_public_key(*key), ""};
    }
    return reply;
}

}  // namespace perfleet
