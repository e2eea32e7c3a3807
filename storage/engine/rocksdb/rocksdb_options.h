// RocksDB's options for a store; reasons: storage/README.md.
#pragma once

#include <rocksdb/options.h>

#include <cstddef>
#include <cstdint>

namespace perfleet {

// Files that a writer keeps open.
inline constexpr int kWriterFilesMax = 1'024;
inline constexpr std::uint64_t kTableFileSizeBytes = 128U << 20;

// Disk space needed to open a store, in addition to the size of its logs: for RocksDB's small files. The assertions in
// Debian's library end the program if one of them doesn't fit.
inline constexpr std::uint64_t kOpenRoomSizeBytes = 1U << 20;

// Disk space needed before a store whose disk was full continues.
inline constexpr std::uint64_t kRecoverRoomSizeBytes = 16U << 20;

// `memory_size_bytes` is for memtables and the block cache together.
[[nodiscard]] rocksdb::Options writer_options(std::size_t memory_size_bytes);
[[nodiscard]] rocksdb::Options reader_options();

// Approximate limit of a writer's write-ahead logs: the size of its memtables.
[[nodiscard]] std::uint64_t log_size_bytes_max(std::size_t memory_size_bytes);

}  // namespace perfleet
