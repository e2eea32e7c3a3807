// The records of RocksDB's write-ahead logs and manifests.
//
// Blocks of 32 KiB; a record lies within one: CRC-32C of type and payload (masked) u32, size u16, type u8, payload.
// Types 1 full, 2 first, 3 middle, 4 last: the payloads from a first to its last one belong together. What is too small
// for a header at a block's end is zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace perfleet {

inline constexpr std::size_t kLogBlockSizeBytes = 32'768;
inline constexpr std::size_t kLogHeaderSizeBytes = 7;

enum class Fragment : std::uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

struct LogRecord {
    Fragment type = Fragment::kFull;
    std::string_view payload;  // borrowed

    [[nodiscard]] std::size_t size_bytes() const { return kLogHeaderSizeBytes + payload.size(); }
};

// What stands at the beginning of `bytes`, which end with their block at the latest; nothing where that is no record
// with a right checksum.
[[nodiscard]] std::optional<LogRecord> log_record_in(std::string_view bytes);

}  // namespace perfleet
