// Encodes and decodes ZMTP 3 (ZeroMQ RFC 23): the greeting, frames and READY's properties.
//
//   greeting  FF 00×8 7F │ 3 1 │ mechanism, 20 bytes padded with 0 │ as-server │ 00×31              64 bytes
//   frame     flags │ size: 1 byte, or 8 big-endian where flags has kLong │ body
//   command   as body of a frame with kCommand: length of its name │ name │ data
//
// Pure functions over bytes; nothing is owned or kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace perfleet::zmtp {

inline constexpr std::size_t kGreetingSizeBytes = 64;
inline constexpr std::size_t kFrameHeaderSizeBytesMax = 9;
inline constexpr std::size_t kHandshakeFrameSizeBytesMax = 4U << 10;

// On the wire: must not change.
enum FrameFlag : std::uint8_t { kMore = 1, kLong = 2, kCommand = 4 };

enum class Mechanism : std::uint8_t { kNull, kCurve };

[[nodiscard]] std::array<std::byte, kGreetingSizeBytes> greeting_of(Mechanism mechanism);

inline constexpr std::size_t kAsServerAt = 32;

enum class GreetingFault : std::uint8_t { kNone, kNotZmtp3, kOtherMechanism };
// `bytes` may be an incomplete greeting: kNone while it can still become valid.
[[nodiscard]] GreetingFault check_greeting(std::span<const std::byte> bytes, Mechanism mechanism);

struct FrameHeader {
    std::uint8_t flags = 0;
    std::size_t header_size_bytes = 0;
    std::uint64_t body_size_bytes = 0;

    [[nodiscard]] bool has(FrameFlag flag) const { return (flags & flag) != 0; }
};
// Nothing: more bytes are needed. Flags that ZMTP doesn't define are left to the caller.
[[nodiscard]] std::optional<FrameHeader> read_frame_header(std::span<const std::byte> bytes);
void append_frame_header(std::string& out, std::uint8_t flags, std::uint64_t body_size_bytes);

struct Command {
    std::string_view name;
    std::span<const std::byte> data;
};
// Nothing if it isn't the body of a command.
[[nodiscard]] std::optional<Command> read_command(std::span<const std::byte> body);
// Appends the command as a whole frame.
void append_command(std::string& out, std::string_view name, std::span<const std::byte> data);

// The property's value; names ignore case. Nothing: `properties` is malformed or doesn't have it.
[[nodiscard]] std::optional<std::string_view> find_property(std::span<const std::byte> properties,
                                                            std::string_view name);
// The properties of a socket of this type, for READY.
[[nodiscard]] std::string properties_of(std::string_view socket_type);

}  // namespace perfleet::zmtp
