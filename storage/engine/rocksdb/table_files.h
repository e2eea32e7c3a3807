// Checks the table files of a store's folder one by one: every block against its checksum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "storage/engine/rocksdb/manifest.h"

namespace perfleet {

struct TableFileCheck {
    std::string file;              // its name in the folder
    std::uint64_t size_bytes = 0;  // expected size
    std::string first_key;         // first key in it; empty if the manifest can't be read
    std::string last_key;
    std::uint64_t session_id = 0;  // as in ManifestTable
    std::string damage;            // empty: none
};

[[nodiscard]] std::vector<TableFileCheck> table_files_of(const Manifest& manifest);

// The files that the manifest names now; nothing if it can't be read. Logs aren't checked.
[[nodiscard]] std::optional<std::vector<TableFileCheck>> live_table_files(const std::string& directory);

// The present manifest; nothing if it can't be read.
[[nodiscard]] std::optional<Manifest> live_manifest(const std::string& directory);

// Whether one of these table files can't be opened and still belongs to the store. RocksDB's secondary instance then
// shows the store as it was before that file, without an error.
[[nodiscard]] bool misses_table_files(const std::string& directory, const std::vector<std::string>& known_files);

// The store's files that can't be opened, each with the reason. Reads only the metadata of each file. Errors:
// kPermission, kIo (too many open files): causes outside of the files.
[[nodiscard]] Result<std::vector<TableFileCheck>> lost_table_files(const std::string& directory);

// The files of the present store; all files in the folder if that is unknown, because the store doesn't open. Reads
// their contents only with `verify`; progress is in bytes. Works beside a live writer. Errors: kIo (the folder can't be
// listed).
[[nodiscard]] Result<std::vector<TableFileCheck>> check_table_files(const std::string& directory, bool verify,
                                                                    const ProgressReport& progress = {});

}  // namespace perfleet
