// One session's spool file, mapped into memory. Written data reach the operating system at once, and survive any end of
// the process. Format: FORMAT.md.
//
// A resource. Its disk space is allocated when it is created, so that a full disk is an error then and never a signal
// later. One thread at a time for each part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/spool/spool_reading.h"

namespace perfleet {

// Mode of a spool's files: no other user may read a target's data.
inline constexpr mode_t kSpoolFileMode = 0600;

// Number of the empty entry with which a new file's journal begins.
inline constexpr std::uint64_t kFirstJournalNumber = 1;

class SpoolFile : NonCopyable {
public:
    // Creates "<session>.spool" in `folder`, with an empty journal. `head` needs no checksum. Errors: kFull (no space,
    // with the way out), kPermission, kIo.
    [[nodiscard]] static Result<std::unique_ptr<SpoolFile>> create(const std::string& folder, SpoolHead head,
                                                                   std::span<const std::byte> hello);

    // Opens an existing file. A truncated file gets its length back, filled with zeros; a damaged head is restored from
    // its copy. Errors: kInvalid (not a spool file), kUnsupported (of a newer version), kCorrupt, kTruncated,
    // kTooLarge, kIo; all name the file.
    [[nodiscard]] static Result<std::unique_ptr<SpoolFile>> open(const std::string& path);

    ~SpoolFile();

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const SpoolHead& head() const { return head_; }
    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] std::span<std::byte> counts() const {
        return bytes_.subspan(kSpoolCountsOffset, kLiveCountsSizeBytes);
    }
    [[nodiscard]] std::span<std::byte> journal() const {
        return bytes_.subspan(kSpoolJournalOffset, kJournalSizeBytes);
    }
    [[nodiscard]] std::span<std::byte> records() const { return bytes_.subspan(head_.records_offset()); }

    // Returns the space that holds no kept record to the file system, if possible. Nothing may be pushed afterwards.
    void give_back_around(const DeliverySpool::Places& places) const;

    // When this returns Done, everything written before is on the disk. Any thread. Errors: kIo.
    [[nodiscard]] Result<Done> sync() const;

    // Deletes the file; this object stays usable.
    [[nodiscard]] Result<Done> remove() const;

private:
    SpoolFile(std::string path, FileDescriptor fd) : path_{std::move(path)}, fd_{std::move(fd)} {}
    [[nodiscard]] Result<Done> map();
    void write_heads() const;
    void punch(std::uint64_t begin, std::uint64_t end) const;

    std::string path_;
    FileDescriptor fd_;
    SpoolHead head_;
    std::span<std::byte> bytes_;
};

// "0123…ef.spool"
[[nodiscard]] std::string spool_file_name(SessionId session);

}  // namespace perfleet
