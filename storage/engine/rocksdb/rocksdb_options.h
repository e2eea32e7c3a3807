// How the store sets RocksDB up; why: storage/README.md.
#pragma once

#include <rocksdb/options.h>

#include <cstddef>
#include <cstdint>

namespace perfleet {

// Open at once, by a writer.
inline constexpr int kWriterFilesMax = 1'024;
inline constexpr std::uint64_t kTableFileSizeBytes = 128U << 20;

// What has to fit on the disk, beside the logs once more, for a store to be opened: RocksDB's own small files. Its
// assertions, which Debian's library has, end the program where one of them doesn't fit.
inline constexpr std::uint64_t kOpenRoomSizeBytes = 1U << 20;

// And before one whose disk was full goes on.
inline constexpr std::uint64_t kRecoverRoomSizeBytes = 16U << 20;

// `memory_size_bytes` is for memtables and the block cache together.
[[nodiscard]] rocksdb::Options writer_options(std::size_t memory_size_bytes);
[[nodiscard]] rocksdb::Options reader_options();

// What the write-ahead logs of a writer may hold, about: as much as its memtables.
[[nodiscard]] std::uint64_t log_size_bytes_max(std::size_t memory_size_bytes);

}  // namespace perfleet
