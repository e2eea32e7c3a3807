// A copy of RocksDB's manifest beside it. A manifest that lacks its last edits looks whole to RocksDB, which would show
// the store as it was before them, and at its next start delete the table files that they name. Held against its copy,
// the loss is seen; taken from it, nothing is lost.
//
// `MANIFEST-NUMBER.copy` has the same bytes. The writer appends to it what the manifest has got, behind each flush and
// compaction and before the files that these made needless are deleted, and doesn't sync it: so it may be shorter, and
// never states more.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "storage/engine/rocksdb/manifest.h"

namespace perfleet {

// RocksDB begins another manifest where one becomes larger, so that a copy is read at once.
inline constexpr std::uint64_t kManifestSizeBytesMax = 16U << 20;

struct FoundManifest {
    std::string file;   // its name
    std::string bytes;  // its whole edits; what is damaged of them, or missing, is the copy's
    std::optional<Manifest> content;
    std::string damage;  // what follows its name: of it, or of CURRENT; empty: the file begins with `bytes`
};

// What the store's manifest is. Where there is no copy, what the file says; nothing where that can't be read. Works
// beside a live writer. Errors: kCorrupt where it can't be told, which names the place and the way out.
[[nodiscard]] Result<FoundManifest> find_manifest(const std::string& directory);

// Makes CURRENT and the manifest in the folder what was found, durably. What they were is kept under their names with
// `.damaged` behind them. The caller holds the folder's lock. Errors: those of files.
[[nodiscard]] Result<Done> restore_manifest(const std::string& directory, const FoundManifest& found);

// Threads: any.
class ManifestCopier {
public:
    explicit ManifestCopier(std::string directory) : directory_{std::move(directory)} {}

    // Behind each flush and compaction. Where it fails the copy stays shorter, until it succeeds again.
    void update();

private:
    std::string directory_;
    std::mutex mutex_;
    std::string manifest_;  // of which this is the copy
    FileDescriptor copy_;
    std::uint64_t size_bytes_ = 0;
};

}  // namespace perfleet
