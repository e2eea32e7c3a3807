// The questions that ZeroMQ asks about who comes in (ZAP 1.0, RFC 27), without ZeroMQ: frames in, frames out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "schemas/peers/key_folder.h"

namespace perfleet {

inline constexpr const char* kZapEndpoint = "inproc://zeromq.zap.01";
inline constexpr const char* kZapDomain = "perfleet";
inline constexpr const char* kZapUserId = "User-Id";  // the property of messages that the answer's user comes back in

enum class ZapVerdict : std::uint8_t {
    kAllowed,
    kUnknownKey,
    kMalformed,  // not a question that this version asks
};

struct ZapReply {
    ZapVerdict verdict{};
    std::array<std::string, 6> frames;  // version, request, status, text, user, metadata
};

// `request` is the message behind the empty frame: version, request, domain, address, identity, mechanism, credentials.
// A peer of the set is let in as the text of its key, by which its messages are known.
[[nodiscard]] ZapReply answer_zap(std::span<const std::string> request, const KeySet& allowed);

}  // namespace perfleet
