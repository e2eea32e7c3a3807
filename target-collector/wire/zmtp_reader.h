// Parses the bytes of a ZMTP 3 peer (zmtp_layout.h), in pieces of any size.
//
// Freestanding; one thread. Works in memory of the caller. Limits: kCommandSizeBytesMax for a command, that memory for
// a kept message, `skipped_size_bytes_max` for a skipped one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/result.h"
#include "target-collector/wire/zmtp_layout.h"
#include "target-collector/wire/zmtp_mechanism.h"

namespace perfleet {

class ZmtpReader : NonCopyable {
public:
    enum class Event : std::uint8_t {
        kNone,            // all bytes were taken, without an event
        kGreeting,        // the peer's, of a supported version and mechanism
        kWelcome,         // of a mechanism other than NULL: call its initiate()
        kReady,           // messages may be sent in both directions
        kPing,            // ping_context() must be sent back
        kMessage,         // message() holds a message of one part
        kSkippedMessage,  // a message that is empty, multipart, or larger than the memory
    };
    struct Step {
        std::size_t taken_bytes = 0;  // of the given bytes
        Event event = Event::kNone;
    };

    // `memory`: where messages are assembled, sealed ones too. `mechanism`: null for NULL. Both are borrowed.
    explicit ZmtpReader(std::span<std::byte> memory, std::uint64_t skipped_size_bytes_max,
                        ZmtpMechanism* mechanism = nullptr)
        : memory_{memory},
          skipped_size_bytes_max_{skipped_size_bytes_max},
          mechanism_{mechanism},
          is_welcomed_{mechanism == nullptr} {}

    // A new connection: expects a greeting.
    void begin();

    // Takes bytes up to the end of the next event. Faults, after which only begin() may follow: kInvalid (breaks the
    // protocol; where: offset in the greeting, or flags of the frame), kUnsupported (where: offset in the greeting;
    // value: the byte there), kTooLarge (value: size of the frame), kUnavailable (the peer has sent ERROR), kPermission
    // (the mechanism: the peer doesn't have the expected key, or its bytes were changed).
    [[nodiscard]] Checked<Step> read(std::span<const std::byte> bytes_untrusted);

    // Valid until the next read().
    [[nodiscard]] std::span<const std::byte> message() const { return message_; }
    [[nodiscard]] std::span<const std::byte> ping_context() const {
        return std::span{ping_context_}.first(ping_context_size_bytes_);
    }
    // The time of the last PING within which the peer sends something; 0: none.
    [[nodiscard]] std::uint64_t time_to_live_ns() const { return time_to_live_ns_; }

private:
    enum class State : std::uint8_t { kGreeting, kFlags, kSize, kBody };

    [[nodiscard]] Checked<Event> take_greeting_byte(std::byte byte);
    [[nodiscard]] Checked<Done> take_flags(std::byte byte);
    [[nodiscard]] Checked<Done> begin_body();
    // Copies the kept part of a piece of the body.
    void take_body(std::span<const std::byte> bytes);
    [[nodiscard]] Checked<Event> end_frame();
    [[nodiscard]] Checked<Event> end_command();
    [[nodiscard]] Checked<Event> end_ready(std::span<const std::byte> data);
    [[nodiscard]] Checked<Event> end_ping(std::span<const std::byte> data);
    [[nodiscard]] Checked<Event> end_handshake(std::span<const std::byte> name, std::span<std::byte> data);
    [[nodiscard]] Checked<Event> end_later_command(std::span<const std::byte> name, std::span<const std::byte> data);
    [[nodiscard]] Checked<Event> end_message();
    [[nodiscard]] Checked<Event> end_sealed();
    [[nodiscard]] Event end_part(bool has_more, std::span<const std::byte> part, bool is_kept);
    [[nodiscard]] bool has(std::uint8_t flag) const { return (flags_ & flag) != 0; }

    std::span<std::byte> memory_;
    std::uint64_t skipped_size_bytes_max_;
    ZmtpMechanism* mechanism_;
    State state_ = State::kGreeting;
    std::size_t greeting_size_bytes_ = 0;
    bool is_welcomed_;  // with NULL from the beginning
    bool is_ready_ = false;
    std::uint8_t flags_ = 0;
    std::uint32_t size_bytes_left_ = 0;  // of the size field
    std::uint64_t frame_size_bytes_ = 0;
    std::uint64_t taken_bytes_ = 0;  // of the frame's body
    bool has_parts_ = false;         // the message that is under way
    std::span<const std::byte> message_;
    std::array<std::byte, zmtp_layout::kCommandSizeBytesMax> command_{};
    std::array<std::byte, zmtp_layout::kPingContextSizeBytesMax> ping_context_{};
    std::size_t ping_context_size_bytes_ = 0;
    std::uint64_t time_to_live_ns_ = 0;
};

}  // namespace perfleet
