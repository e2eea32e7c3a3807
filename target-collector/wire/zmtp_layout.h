// Bytes of the ZeroMQ Message Transport Protocol, versions 3.0 and 3.1 (rfc.zeromq.org/spec/23 and /37). Additions of
// mechanisms other than NULL: zmtp_mechanism.h.
//
// A greeting, from both sides at once:
//   byte 0    0xff | 8 × 0 | 0x7f     signature
//   byte 10   u8 major 3 | u8 minor
//   byte 12   char[20] mechanism      "NULL" or another one, filled up with 0
//   byte 32   u8 as_server | 31 × 0
// Then frames; each side's first one is the command READY:
//   byte 0    u8 flags                1: more frames of this message follow; 2: long; 4: a command
//   byte 1    u8 size, or u64 size big-endian when long
//   …         a message's part, or a command: u8 name_size | name | data
// Data of READY: { u8 name_size | name | u32 value_size big-endian | value } …
// Data of PING: u16 time to live in tenths of a second, big-endian | up to 16 bytes, which the PONG gives back.
//
// Freestanding. Integers are unsigned.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace perfleet::zmtp_layout {

inline constexpr std::size_t kGreetingSizeBytes = 64;
inline constexpr std::size_t kSignatureSizeBytes = 10;
inline constexpr std::size_t kVersionOffset = 10;
inline constexpr std::size_t kMechanismOffset = 12;
inline constexpr std::size_t kMechanismSizeBytes = 20;
inline constexpr std::uint8_t kVersionMajor = 3;
inline constexpr std::uint8_t kVersionMinor = 1;  // the first with PING
inline constexpr std::uint8_t kSignatureFirst = 0xff;
inline constexpr std::uint8_t kSignatureLast = 0x7f;

inline constexpr std::string_view kNull = "NULL";

inline constexpr std::uint8_t kMore = 1;
inline constexpr std::uint8_t kLong = 2;
inline constexpr std::uint8_t kCommand = 4;

inline constexpr std::size_t kFrameHeaderSizeBytesMax = 9;
inline constexpr std::size_t kPingContextSizeBytesMax = 16;
inline constexpr std::uint64_t kNsPerTtlUnit = 100'000'000;

// Limits of a peer's bytes other than message parts; longer ones are protocol errors here.
inline constexpr std::size_t kCommandSizeBytesMax = 512;

// Short bytes to send that aren't a message.
struct ShortBytes {
    std::array<std::byte, kGreetingSizeBytes> bytes{};
    std::size_t size_bytes = 0;

    [[nodiscard]] std::span<const std::byte> view() const { return std::span{bytes}.first(size_bytes); }
};

[[nodiscard]] ShortBytes greeting(std::string_view mechanism = kNull);
// READY of a DEALER without an identity: its peer chooses a new routing id for each connection.
[[nodiscard]] ShortBytes ready();
// The properties in it.
[[nodiscard]] ShortBytes properties();
[[nodiscard]] ShortBytes ping(std::uint64_t time_to_live_ns);
[[nodiscard]] ShortBytes pong(std::span<const std::byte> context);
// The header of a message of one part.
[[nodiscard]] ShortBytes message_header(std::uint64_t size_bytes);

}  // namespace perfleet::zmtp_layout
