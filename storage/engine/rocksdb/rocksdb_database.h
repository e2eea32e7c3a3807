// RocksDB's databases under a store, as a writer and as a reader open them: what is done about damaged and missing
// files, torn logs, and a writer that goes on meanwhile.
//
// Of the RocksDB engine alone. Threads: as those of rocksdb::DB; a database is closed when nobody holds it.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/rocksdb/manifest_copy.h"

namespace perfleet {

// An open database, with what must outlive it.
struct RocksdbDatabase {
    std::shared_ptr<rocksdb::Env> env;       // null: the system's
    std::shared_ptr<rocksdb::Env> over_env;  // what the database sees of it, where files are lost; else null
    std::size_t memory_size_bytes = 0;       // writers only
    KnownDamage known;
    std::shared_ptr<ManifestCopier> manifest_copier;  // writers only
    std::unique_ptr<TemporaryFolder> folder;          // readers only
    std::string generation;                           // readers only: changes when a writer opens the database anew
    std::unique_ptr<rocksdb::DB> db;                  // closed first
};

[[nodiscard]] rocksdb::Env& env_of(const std::shared_ptr<rocksdb::Env>& env);

// `what` was done; the status is not ok.
[[nodiscard]] Error rocksdb_error(const rocksdb::Status& status, const std::string& what);

// Whether so much is free on the disk; true where nobody can tell.
[[nodiscard]] bool has_free(rocksdb::Env& env, const std::string& directory, std::uint64_t needed_size_bytes);
// Opening a store writes what its logs hold into a table file.
[[nodiscard]] std::uint64_t logs_size_bytes(const std::string& directory);

// Creates it where there is none. Errors: kBusy (another writer), kInvalid (not a store), kFull, kIo, kPermission.
[[nodiscard]] Result<std::shared_ptr<RocksdbDatabase>> open_to_write(const std::string& directory,
                                                                     std::shared_ptr<rocksdb::Env> env,
                                                                     std::size_t memory_size_bytes,
                                                                     bool compacts = true);

// Beside a writer, or without one: with a folder of its own, and limits raised as far as it may.
[[nodiscard]] Result<std::shared_ptr<RocksdbDatabase>> open_to_read(const std::string& directory);
// Follows the writer. False when it must be opened anew to show what is there now.
[[nodiscard]] bool catch_up(const std::string& directory, RocksdbDatabase& reader);

}  // namespace perfleet
