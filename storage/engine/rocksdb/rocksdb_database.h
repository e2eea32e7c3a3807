// Opens RocksDB's databases for a store's writer and readers: handles damaged and missing files, torn logs, and readers
// beside a live writer.
//
// Only for the RocksDB engine. Threads: as those of rocksdb::DB; a database is closed with its last owner.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <cstddef>
#include <memory>
#include <string>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/manifest_copy.h"

namespace perfleet {

// An open database and the objects that must outlive it.
struct RocksdbDatabase {
    std::shared_ptr<rocksdb::Env> env;       // null: the system's
    std::shared_ptr<rocksdb::Env> over_env;  // what the database uses in its place, if files are lost; else null
    std::size_t memory_size_bytes = 0;       // writers only
    KnownDamage known;
    std::shared_ptr<ManifestCopier> manifest_copier;  // writers only
    std::unique_ptr<TemporaryFolder> folder;          // readers only
    std::string generation;                           // readers only: changes when a writer opens the database anew
    std::unique_ptr<rocksdb::DB> db;                  // destroyed first
};

[[nodiscard]] rocksdb::Env& env_of(const std::shared_ptr<rocksdb::Env>& env);

// `what` names the failed operation; the status is not ok.
[[nodiscard]] Error rocksdb_error(const rocksdb::Status& status, const std::string& what);

// Whether this much disk space is free; true if that can't be determined.
[[nodiscard]] bool has_free(rocksdb::Env& env, const std::string& directory, std::uint64_t needed_size_bytes);
// Size of the logs: opening a store writes their contents into a table file.
[[nodiscard]] std::uint64_t logs_size_bytes(const std::string& directory);

// Creates the database if there is none. Errors: kBusy (another writer), kInvalid (not a store), kFull, kIo,
// kPermission.
[[nodiscard]] Result<std::shared_ptr<RocksdbDatabase>> open_to_write(const std::string& directory,
                                                                     std::shared_ptr<rocksdb::Env> env,
                                                                     std::size_t memory_size_bytes,
                                                                     bool compacts = true);

// Opens beside a writer, or without one: with a temporary folder of its own, and limits raised as far as possible.
[[nodiscard]] Result<std::shared_ptr<RocksdbDatabase>> open_to_read(const std::string& directory);
// Follows the writer. False: the database must be opened again to show its present state.
[[nodiscard]] bool catch_up(const std::string& directory, RocksdbDatabase& reader);

}  // namespace perfleet
