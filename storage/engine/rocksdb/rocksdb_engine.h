// RocksDB as an engine. The only folder that uses RocksDB; its options and reasons: storage/README.md.
//
// Threads: as Engine says. A writer holds the folder's lock until it is closed; a reader holds no lock, and has a
// private temporary folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/engine/engine.h"
#include "storage/limits/store_limits.h"

namespace rocksdb {
class Env;
}

namespace perfleet {

// Creates the folder when it is missing. Errors: kBusy, kPermission, kInvalid (not a folder, or a folder of other
// files), kCorrupt, kIo. `env`: null for the system's; tests pass one that fails. `reserve_size_bytes` as in
// StoreOptions: on a full disk it is given up to open the store.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_rocksdb_writer_engine(
    const std::string& directory, const std::shared_ptr<rocksdb::Env>& env = nullptr,
    std::size_t memory_size_bytes = limits::kStoreMemorySizeBytes, std::uint64_t reserve_size_bytes = 0);

// Errors: kNotFound (no store there), kPermission, kCorrupt, kIo. Its write, sync and erase return errors.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_rocksdb_reader_engine(const std::string& directory);

// Disk space that suffices for a drop, whatever the write-ahead logs of a store with this memory hold.
[[nodiscard]] std::uint64_t disk_reserve_size_bytes(std::size_t memory_size_bytes);

}  // namespace perfleet
