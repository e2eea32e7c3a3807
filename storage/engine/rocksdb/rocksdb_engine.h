// RocksDB as an engine. The only room that knows RocksDB; which options, and why: storage/README.md.
//
// Threads: as Engine says. A writer holds the folder's lock until it is closed; a reader holds nothing, and has a
// private temporary folder that goes with it.
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
// things), kCorrupt, kIo. `env`: the system's when null; tests bring one that fails. `reserve_size_bytes` as in
// StoreOptions: on a full disk it is given up for opening.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_rocksdb_writer_engine(
    const std::string& directory, const std::shared_ptr<rocksdb::Env>& env = nullptr,
    std::size_t memory_size_bytes = limits::kStoreMemorySizeBytes, std::uint64_t reserve_size_bytes = 0);

// Errors: kNotFound (nothing there), kPermission, kCorrupt, kIo. Its write, sync and erase are errors.
[[nodiscard]] Result<std::unique_ptr<Engine>> open_rocksdb_reader_engine(const std::string& directory);

// Enough for a drop whatever the write-ahead logs of a store with so much memory hold.
[[nodiscard]] std::uint64_t disk_reserve_size_bytes(std::size_t memory_size_bytes);

}  // namespace perfleet
