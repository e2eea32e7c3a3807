// The records of RocksDB's write-ahead logs and manifests.
//
// Blocks of 32 KiB; a record lies within one: CRC-32C of type and payload (masked) u32, size u16, type u8, payload.
// Types 1 full, 2 first, 3 middle, 4 last: the payloads from a first to the next last one belong together. The end of a
// block that is too small for a header is zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

// The record at the beginning of `bytes`, which must not exceed their block; nothing if there is no record with a right
// checksum.
[[nodiscard]] std::optional<LogRecord> log_record_in(std::string_view bytes);

// The beginning of a group of changes in a write-ahead log (storage/engine/rocksdb/log_tail.h): sequence u64, count
// u32, and the sync mark, which is none of the changes.
struct SyncMark {
    std::uint64_t synced = 0;  // sequence number up to which the log was synced, included
    std::uint64_t logged = 0;  // last sequence number in an earlier log
};
struct ChangeGroup {
    std::uint64_t sequence = 0;  // of its first change
    std::uint32_t count = 0;
    std::optional<SyncMark> mark;
};
// Reads the beginning of a payload, or of its first fragment; nothing if it is too short.
[[nodiscard]] std::optional<ChangeGroup> change_group_in(std::string_view payload);
// The bytes of a mark in a group.
[[nodiscard]] std::string sync_mark(const SyncMark& mark);

}  // namespace perfleet
