// The folder of a collector's spool files: one collector at a time, one file for each session that isn't delivered yet.
//
// A resource: the folder is locked as long as this lives; the lock goes with the process. Bounded: all batches kept in
// it take at most `size_bytes`, and at most limits::kSpoolSessionsMax ended sessions wait. One thread.
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

// At least so much: half of it is always there for a new session.
inline constexpr std::size_t kSpoolFolderSizeBytesMin = 1U << 20U;

class SpoolFolder : NonCopyable {
public:
    // Makes the folder if it isn't there (its parent is), locks it, and looks at what earlier runs left. What they left
    // may take half of `size_bytes`: of more, the oldest batches of the oldest session are dropped, and counted as the
    // spool's bound. `log` is told of that, of damage, and of files that can't be delivered; those stay. Errors:
    // kBusy (another collector uses it), kUnsupported (a file of a newer version), kPermission (also where others may
    // write to it), kIo; all name the place.
    [[nodiscard]] static Result<std::unique_ptr<SpoolFolder>> open(const std::string& path, std::size_t size_bytes,
                                                                   const LogText& log);

    [[nodiscard]] const std::string& path() const { return path_; }

    // Files of ended sessions, oldest first (OrphanSession::open()).
    [[nodiscard]] const std::vector<std::string>& orphans() const { return orphans_; }

    // Files with damage, whether what is left of them can be delivered or not.
    [[nodiscard]] std::uint64_t damaged_count() const { return damaged_count_; }

    // The file of a new session, with all room that is left. Errors: SpoolFile::create()'s.
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
