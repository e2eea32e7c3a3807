// The gateway's replies, as frames of at most limits::kReplySizeBytesMax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/time.h"
#include "schemas/wire/protocol.h"

namespace perfleet {

struct WelcomeReply {
    SessionId session;
    UtcNs utc;
    std::uint64_t incarnation = 0;
    Seq prefix;
    Seq send_limit;
};

struct AckReply {
    SessionId session;
    Seq prefix;
    Seq send_limit;
    std::uint64_t incarnation = 0;
    bool finished = false;
};

struct RefusedReply {
    SessionId session;
    Seq seq;  // 0: the session
    protocol::RefusedReason reason{};
    std::string_view message;  // cut at intake_limits::kReplyTextSizeBytesMax
};

struct ControlReply {
    SessionId session;
    protocol::ControlCommand command{};
    EventNumber event;
    std::uint64_t value = 0;
    std::uint64_t number = 0;
    std::uint64_t incarnation = 0;
};

struct ElsewhereReply {
    SessionId session;
    std::string_view endpoint;
    std::string_view public_key;
};

using Frame = std::vector<std::byte>;

[[nodiscard]] Frame encode_welcome(const WelcomeReply& reply);
[[nodiscard]] Frame encode_hello_again(std::uint64_t incarnation);
[[nodiscard]] Frame encode_ack(const AckReply& reply);
[[nodiscard]] Frame encode_refused(const RefusedReply& reply);
[[nodiscard]] Frame encode_control(const ControlReply& reply);
[[nodiscard]] Frame encode_elsewhere(const ElsewhereReply& reply);
[[nodiscard]] Frame encode_need_image(std::string_view build_id, std::uint64_t offset);

}  // namespace perfleet
