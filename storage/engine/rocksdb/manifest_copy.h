// A copy of RocksDB's manifest beside it. A manifest that lacks its last edits looks complete to RocksDB. RocksDB would
// show the store as it was before these edits, and at its next start delete the table files that they name. The copy
// reveals such a loss, and repairs it.
//
// `MANIFEST-NUMBER.copy` has the same bytes. The writer appends new bytes of the manifest after each flush and
// compaction, before files that these replace are deleted, and doesn't sync it: the copy may be shorter, but never has
// more than the manifest.
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

// RocksDB begins a new manifest when one becomes larger, so that a copy can be read at once.
inline constexpr std::uint64_t kManifestSizeBytesMax = 16U << 20;

struct FoundManifest {
    std::string file;   // its name
    std::string bytes;  // its complete edits; damaged or missing ones come from the copy
    std::optional<Manifest> content;
    std::string
        damage;  // what is wrong with it or with CURRENT, to follow its name; empty: the file begins with `bytes`
};

// The store's manifest, repaired from its copy. Without a copy, the contents of the file; nothing if it can't be read.
// Works beside a live writer. Errors: kCorrupt if it can't be determined, naming the place and the way out.
[[nodiscard]] Result<FoundManifest> find_manifest(const std::string& directory);

// Writes CURRENT and the manifest as they were found, durably. Their old contents are kept under their names plus
// `.damaged`. The caller holds the folder's lock. Errors: those of files.
[[nodiscard]] Result<Done> restore_manifest(const std::string& directory, const FoundManifest& found);

// Threads: any.
class ManifestCopier {
public:
    explicit ManifestCopier(std::string directory) : directory_{std::move(directory)} {}

    // Call it after each flush and compaction. After a failure the copy stays shorter, until a later call succeeds.
    void update();

private:
    std::string directory_;
    std::mutex mutex_;
    std::string manifest_;  // file name of the manifest that is copied
    FileDescriptor copy_;
    std::uint64_t size_bytes_ = 0;
};

}  // namespace perfleet
