// Checks a single table file: whether RocksDB can open it, and whether it is the one that the manifest names. A file of
// another store, time or number can be opened, too, and would be read as the store's.
#pragma once

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <cstdint>
#include <filesystem>

namespace perfleet {

// Options for reads that look for damage.
[[nodiscard]] rocksdb::Options damage_reading_options();

// Opens the table, with its index. A file of another size than `size_bytes` is accepted if its table can be found, as
// RocksDB does. `session_id` as in ManifestTable; the file's number is in its name.
[[nodiscard]] rocksdb::Status try_to_open_table(const std::filesystem::path& path, std::uint64_t size_bytes,
                                                std::uint64_t session_id);

}  // namespace perfleet
