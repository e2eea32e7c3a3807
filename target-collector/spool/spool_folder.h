// The folder of a collector's spool files: one collector at a time, one file for each session that isn't delivered yet.
//
// A resource: the folder is locked while this object lives; the lock ends with the process. Bounded: all batches kept
// in it take at most `size_bytes`, and at most limits::kSpoolSessionsMax ended sessions wait. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/log_event.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/spool/spool_file.h"

namespace perfleet {

// The minimum size: half of it is always available for a new session.
inline constexpr std::size_t kSpoolFolderSizeBytesMin = 1U << 20U;

class SpoolFolder : NonCopyable {
public:
    // Creates the folder if it doesn't exist (its parent must), locks it, and examines the files of earlier runs. Those
    // files may take half of `size_bytes`: above it, the oldest batches of the oldest session are dropped, and counted
    // as lost to the spool's limit. `log` gets messages about that, about damage, and about files that can't be
    // delivered, which stay. Errors: kBusy (another collector uses it), kUnsupported (a file of a newer version),
    // kPermission (also if others may write to it), kIo; all name the path.
    [[nodiscard]] static Result<std::unique_ptr<SpoolFolder>> open(const std::string& path, std::size_t size_bytes,
                                                                   const LogText& log);

    [[nodiscard]] const std::string& path() const { return path_; }

    // Files of ended sessions, oldest first (OrphanSession::open()).
    [[nodiscard]] const std::vector<std::string>& orphans() const { return orphans_; }

    // Number of damaged files, whether their rest can be delivered or not.
    [[nodiscard]] std::uint64_t damaged_count() const { return damaged_count_; }

    // The file of a new session, with all remaining space. Errors: SpoolFile::create()'s.
    [[nodiscard]] Result<std::unique_ptr<SpoolFile>> create(SessionId session, std::span<const std::byte> hello);

private:
    struct Found;
    explicit SpoolFolder(std::string path) : path_{std::move(path)} {}
    [[nodiscard]] Result<Done> lock();
    [[nodiscard]] Result<Done> look(std::size_t size_bytes, const LogText& log);

    std::string path_;
    FileDescriptor lock_;
    std::vector<std::string> orphans_;
    std::uint64_t damaged_count_ = 0;
    std::uint64_t next_ordinal_ = 1;
    std::uint64_t free_bytes_ = 0;
};

}  // namespace perfleet
