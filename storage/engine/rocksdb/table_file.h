// One table file, alone: whether RocksDB can open it, and whether it is the one that the manifest names. One of another
// store, of another time or of another number opens as well as the right one, and reads as if that was the store's.
#pragma once

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace perfleet {

// For reads that look for damage, of one file or of all.
[[nodiscard]] rocksdb::Options damage_reading_options();

// Reads its index, too. A file of another size than `size_bytes` is opened all the same if its table can be found in
// it: RocksDB does, too. `session_id` as in ManifestTable; its number is in its name.
[[nodiscard]] rocksdb::Status try_to_open_table(const std::filesystem::path& path, std::uint64_t size_bytes,
                                                std::uint64_t session_id);

}  // namespace perfleet
