// The table files of a store's folder, each checked alone: every block of them against its checksum.
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
    std::uint64_t size_bytes = 0;  // that it should have
    std::string first_key;         // that it holds; empty where the manifest can't be read
    std::string last_key;
    std::uint64_t session_id = 0;  // as in ManifestTable
    std::string damage;            // what is wrong; empty when nothing is
};

[[nodiscard]] std::vector<TableFileCheck> table_files_of(const Manifest& manifest);

// Those that the manifest names now; nothing when it can't be read. The logs aren't looked at.
[[nodiscard]] std::optional<std::vector<TableFileCheck>> live_table_files(const std::string& directory);

// What the manifest says now; nothing where it can't be read.
[[nodiscard]] std::optional<Manifest> live_manifest(const std::string& directory);

// Whether a table file of these can't be opened and is still part of the store. A secondary instance of RocksDB shows
// then, without a word, what the store was before that file.
[[nodiscard]] bool misses_table_files(const std::string& directory, const std::vector<std::string>& known_files);

// Those of the store that can't be opened, each with the reason. Reads of every file only where it says what it holds.
// Errors: kPermission, kIo (too many open files): of what isn't the files' own fault.
[[nodiscard]] Result<std::vector<TableFileCheck>> lost_table_files(const std::string& directory);

// Those that the store consists of now; where that can't be told because it doesn't open, all that are there. Reads
// their content only with `verify`; the progress is in bytes of files. Works beside a live writer. Errors: kIo (the
// folder can't be listed).
[[nodiscard]] Result<std::vector<TableFileCheck>> check_table_files(const std::string& directory, bool verify,
                                                                    const ProgressReport& progress = {});

}  // namespace perfleet
