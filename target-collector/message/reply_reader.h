// Reads the gateway's messages to a collector. The bytes are untrusted: nothing outside them is read.
//
// Freestanding. Fields that the sender's schema lacks are 0 or empty; unknown fields are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

struct Reply {
    enum class Type : std::uint8_t {
        kUnknown = 0,  // an unknown message, or one that gateways don't send: ignore it
        kWelcome,
        kHelloAgain,
        kAck,
        kRefused,
        kControl,
        kNeedImage,
        kElsewhere,
    };

    Type type = Type::kUnknown;
    std::uint16_t protocol_version = 0;
    SessionId session;                       // welcome, ack, refused, control, elsewhere
    std::uint64_t incarnation = 0;           // welcome, hello again, ack, control
    Seq prefix;                              // welcome, ack
    Seq send_limit;                          // welcome, ack
    UtcNs utc_ns;                            // welcome
    std::uint32_t batch_size_bytes_max = 0;  // welcome
    std::uint32_t bucket_duration_s = 0;     // welcome
    bool is_finished = false;                // ack
    Seq seq;                                 // refused
    std::uint16_t reason = 0;                // refused: protocol::RefusedReason
    std::string_view message;                // refused. Borrowed
    std::uint16_t command = 0;               // control: protocol::ControlCommand
    EventNumber event;                       // control
    std::uint64_t value = 0;                 // control
    std::uint64_t number = 0;                // control
    std::span<const std::byte> build_id;     // need image. Borrowed
    std::uint64_t offset_bytes = 0;          // need image
    std::string_view endpoint;               // elsewhere. Borrowed
    std::string_view public_key;             // elsewhere. Borrowed
};

// Faults: kTruncated, kUnsupported (several segments), kCorrupt (wrong checksum), kInvalid (a pointer of another kind,
// or out of bounds).
[[nodiscard]] Checked<Reply> read_reply(std::span<const std::byte> message_untrusted);

}  // namespace perfleet
