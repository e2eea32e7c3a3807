#include "target-collector/wire/zmtp_reader.h"

#include <cstring>
#include <string_view>

namespace perfleet {
namespace {

std::uint8_t integer_of(std::byte byte) { return std::to_integer<std::uint8_t>(byte); }

std::uint64_t big_endian(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (const std::byte byte : bytes) {
        value = value << 8 | integer_of(byte);
    }
    return value;
}

// Names of commands and properties are ASCII; those of properties are case-insensitive.
bool is_same_name(std::span<const std::byte> bytes, std::string_view name, bool any_case) {
    if (bytes.size() != name.size()) {
        return false;
    }
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto lower = [&](std::uint8_t c) {
            return any_case && c >= 'A' && c <= 'Z' ? static_cast<std::uint8_t>(c + 'a' - 'A') : c;
        };
        if (lower(integer_of(bytes[i])) != lower(static_cast<std::uint8_t>(name[i]))) {
            return false;
        }
    }
    return true;
}

// Whether a DEALER can connect to this socket type.
bool is_peer_of_dealer(std::span<const std::byte> socket_type) {
    return is_same_name(socket_type, "ROUTER", false) || is_same_name(socket_type, "DEALER", false) ||
           is_same_name(socket_type, "REP", false);
}

// Takes `size_bytes` from the front of `rest`; false if there are fewer.
bool take(std::span<const std::byte>& rest, std::uint64_t size_bytes, std::span<const std::byte>& into) {
    if (size_bytes > rest.size()) {
        return false;
    }
    into = rest.first(static_cast<std::size_t>(size_bytes));
    rest = rest.subspan(static_cast<std::size_t>(size_bytes));
    return true;
}

// Takes a field after its size, which has `size_size_bytes` bytes.
bool take_sized(std::span<const std::byte>& rest, std::size_t size_size_bytes, std::span<const std::byte>& into) {
    std::span<const std::byte> size;
    return take(rest, size_size_bytes, size) && take(rest, big_endian(size), into);
}

}  // namespace

void ZmtpReader::begin() {
    state_ = State::kGreeting;
    greeting_size_bytes_ = 0;
    is_welcomed_ = mechanism_ == nullptr;
    is_ready_ = false;
    has_parts_ = false;
    message_ = {};
    ping_context_size_bytes_ = 0;
    time_to_live_ns_ = 0;
}

Checked<ZmtpReader::Step> ZmtpReader::read(std::span<const std::byte> bytes_untrusted) {
    std::size_t at = 0;
    while (at < bytes_untrusted.size()) {
        Checked<Event> event = Event::kNone;
        switch (state_) {
            case State::kGreeting: event = take_greeting_byte(bytes_untrusted[at++]); break;
            case State::kFlags: PERFLEET_TRY(take_flags(bytes_untrusted[at++])); break;
            case State::kSize:
                frame_size_bytes_ = frame_size_bytes_ << 8 | integer_of(bytes_untrusted[at++]);
                if (--size_bytes_left_ == 0) {
                    PERFLEET_TRY(begin_body());
                    // An empty body ends with its size.
                    if (frame_size_bytes_ == 0) {
                        event = end_frame();
                    }
                }
                break;
            case State::kBody: {
                const std::uint64_t left = frame_size_bytes_ - taken_bytes_;
                const std::size_t given = bytes_untrusted.size() - at;
                const std::size_t part = left < given ? static_cast<std::size_t>(left) : given;
                take_body(bytes_untrusted.subspan(at, part));
                at += part;
                if (taken_bytes_ == frame_size_bytes_) {
                    event = end_frame();
                }
                break;
            }
        }
        if (!event.ok()) {
            return event.error();
        }
        if (*event != Event::kNone) {
            return Step{at, *event};
        }
    }
    return Step{at, Event::kNone};
}

Checked<ZmtpReader::Event> ZmtpReader::take_greeting_byte(std::byte byte) {
    const std::size_t at = greeting_size_bytes_++;
    const std::uint8_t value = integer_of(byte);
    // The bytes inside the signature, and those after the mechanism, don't matter to a client.
    if ((at == 0 && value != zmtp_layout::kSignatureFirst) ||
        (at == zmtp_layout::kSignatureSizeBytes - 1 && value != zmtp_layout::kSignatureLast)) {
        return Fault{ErrorCode::kInvalid, at, value};
    }
    const std::string_view mechanism = mechanism_ == nullptr ? zmtp_layout::kNull : mechanism_->name();
    const bool is_mechanism =
        at >= zmtp_layout::kMechanismOffset && at < zmtp_layout::kMechanismOffset + zmtp_layout::kMechanismSizeBytes;
    const std::size_t letter = at - zmtp_layout::kMechanismOffset;
    if ((at == zmtp_layout::kVersionOffset && value < zmtp_layout::kVersionMajor) ||
        (is_mechanism && value != (letter < mechanism.size() ? static_cast<std::uint8_t>(mechanism[letter]) : 0))) {
        return Fault{ErrorCode::kUnsupported, at, value};
    }
    if (greeting_size_bytes_ < zmtp_layout::kGreetingSizeBytes) {
        return Event::kNone;
    }
    state_ = State::kFlags;
    return Event::kGreeting;
}

Checked<Done> ZmtpReader::take_flags(std::byte byte) {
    flags_ = integer_of(byte);
    const bool is_known = (flags_ & ~(zmtp_layout::kMore | zmtp_layout::kLong | zmtp_layout::kCommand)) == 0;
    // Commands have a single frame and can't be inside a message; before READY only commands are allowed.
    if (!is_known || (has(zmtp_layout::kCommand) ? has(zmtp_layout::kMore) || has_parts_ : !is_ready_)) {
        return Fault{ErrorCode::kInvalid, flags_, 0};
    }
    size_bytes_left_ = has(zmtp_layout::kLong) ? 8 : 1;
    frame_size_bytes_ = 0;
    taken_bytes_ = 0;
    state_ = State::kSize;
    return Done{};
}

Checked<Done> ZmtpReader::begin_body() {
    const std::uint64_t size_max =
        has(zmtp_layout::kCommand) ? zmtp_layout::kCommandSizeBytesMax : skipped_size_bytes_max_;
    if (frame_size_bytes_ > size_max) {
        return Fault{ErrorCode::kTooLarge, flags_, frame_size_bytes_};
    }
    state_ = State::kBody;
    return Done{};
}

void ZmtpReader::take_body(std::span<const std::byte> bytes) {
    const std::span<std::byte> memory = has(zmtp_layout::kCommand) ? std::span<std::byte>{command_} : memory_;
    const bool is_kept =
        frame_size_bytes_ <= memory.size() && (has(zmtp_layout::kCommand) || mechanism_ != nullptr || !has_parts_);
    if (is_kept) {
        std::memcpy(memory.data() + taken_bytes_, bytes.data(), bytes.size());
    }
    taken_bytes_ += bytes.size();
}

Checked<ZmtpReader::Event> ZmtpReader::end_frame() {
    state_ = State::kFlags;
    return has(zmtp_layout::kCommand) ? end_command() : end_message();
}

ZmtpReader::Event ZmtpReader::end_part(bool has_more, std::span<const std::byte> part, bool is_kept) {
    if (has_more) {
        has_parts_ = true;
        return Event::kNone;
    }
    const bool is_whole = !has_parts_ && is_kept && !part.empty();
    has_parts_ = false;
    message_ = is_whole ? part : std::span<const std::byte>{};
    return is_whole ? Event::kMessage : Event::kSkippedMessage;
}

Checked<ZmtpReader::Event> ZmtpReader::end_message() {
    const bool is_kept = frame_size_bytes_ <= memory_.size();
    const std::span<const std::byte> part =
        is_kept ? memory_.first(static_cast<std::size_t>(frame_size_bytes_)) : std::span<std::byte>{};
    return mechanism_ != nullptr ? end_sealed() : end_part(has(zmtp_layout::kMore), part, is_kept);
}

Checked<ZmtpReader::Event> ZmtpReader::end_sealed() {
    if (has(zmtp_layout::kMore)) {  // a sealed frame says inside whether more follow
        return Fault{ErrorCode::kInvalid, flags_, frame_size_bytes_};
    }
    if (frame_size_bytes_ > memory_.size()) {
        return end_part(false, {}, false);
    }
    const auto opened = mechanism_->open(memory_.first(static_cast<std::size_t>(frame_size_bytes_)));
    if (!opened) {
        return Fault{ErrorCode::kPermission, flags_, frame_size_bytes_};
    }
    if ((opened->flags & ZmtpMechanism::kCommandInside) == 0) {
        return end_part((opened->flags & ZmtpMechanism::kMoreInside) != 0, opened->payload, true);
    }
    std::span<const std::byte> data = opened->payload;
    std::span<const std::byte> name;
    if (!take_sized(data, 1, name)) {
        return Fault{ErrorCode::kInvalid, flags_, frame_size_bytes_};
    }
    return end_later_command(name, data);
}

Checked<ZmtpReader::Event> ZmtpReader::end_command() {
    const std::span<std::byte> command = std::span{command_}.first(static_cast<std::size_t>(frame_size_bytes_));
    std::span<const std::byte> data = command;
    std::span<const std::byte> name;
    if (!take_sized(data, 1, name)) {
        return Fault{ErrorCode::kInvalid, flags_, frame_size_bytes_};
    }
    if (is_same_name(name, "ERROR", false)) {
        return Fault{ErrorCode::kUnavailable, flags_, 0};
    }
    if (!is_ready_) {
        return end_handshake(name, command.last(data.size()));
    }
    if (mechanism_ != nullptr) {  // after the handshake commands come sealed
        return Fault{ErrorCode::kInvalid, flags_, frame_size_bytes_};
    }
    return end_later_command(name, data);
}

Checked<ZmtpReader::Event> ZmtpReader::end_handshake(std::span<const std::byte> name, std::span<std::byte> data) {
    const bool is_welcome = mechanism_ != nullptr && is_same_name(name, "WELCOME", false);
    if (is_welcome == is_welcomed_ || (!is_welcome && !is_same_name(name, "READY", false))) {
        return Fault{ErrorCode::kInvalid, flags_, frame_size_bytes_};
    }
    if (is_welcome) {
        is_welcomed_ = true;
        return mechanism_->take_welcome(data) ? Checked<Event>{Event::kWelcome}
                                              : Fault{ErrorCode::kPermission, flags_, frame_size_bytes_};
    }
    if (mechanism_ == nullptr) {
        return end_ready(data);
    }
    const auto properties = mechanism_->take_ready(data);
    return properties ? end_ready(*properties) : Fault{ErrorCode::kPermission, flags_, frame_size_bytes_};
}

// A DEALER ignores other commands, also those of later versions.
Checked<ZmtpReader::Event> ZmtpReader::end_later_command(std::span<const std::byte> name,
                                                         std::span<const std::byte> data) {
    return is_same_name(name, "PING", false) ? end_ping(data) : Checked<Event>{Event::kNone};
}

Checked<ZmtpReader::Event> ZmtpReader::end_ready(std::span<const std::byte> data) {
    bool is_peer = false;
    while (!data.empty()) {
        std::span<const std::byte> name;
        std::span<const std::byte> value;
        if (!take_sized(data, 1, name) || name.empty() || !take_sized(data, 4, value)) {
            return Fault{ErrorCode::kInvalid, flags_, frame_size_bytes_};
        }
        is_peer = is_peer || (is_same_name(name, "Socket-Type", true) && is_peer_of_dealer(value));
    }
    if (!is_peer) {
        return Fault{ErrorCode::kInvalid, flags_, frame_size_bytes_};
    }
    is_ready_ = true;
    return Event::kReady;
}

Checked<ZmtpReader::Event> ZmtpReader::end_ping(std::span<const std::byte> data) {
    std::span<const std::byte> time_to_live;
    if (!take(data, 2, time_to_live) || data.size() > ping_context_.size()) {
        return Fault{ErrorCode::kInvalid, flags_, frame_size_bytes_};
    }
    time_to_live_ns_ = big_endian(time_to_live) * zmtp_layout::kNsPerTtlUnit;
    ping_context_size_bytes_ = data.size();
    if (!data.empty()) {
        std::memcpy(ping_context_.data(), data.data(), data.size());
    }
    return Event::kPing;
}

}  // namespace perfleet
