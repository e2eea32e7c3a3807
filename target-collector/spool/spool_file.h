// One session's spool file, mapped into memory: what is written there is the operating system's at once, and stays when
// the process ends in whatever way. Format: FORMAT.md.
//
// A resource. Its room on disk is taken when it is made, so that a full disk is an error then and never a signal later.
// One thread at a time for each part.
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

// Of every file of a spool: nobody else reads what a target tells of itself.
inline constexpr mode_t kSpoolFileMode = 0600;

// Of the empty entry that a new file's journal begins with.
inline constexpr std::uint64_t kFirstJournalNumber = 1;

class SpoolFile : NonCopyable {
public:
    // Makes "<session>.spool" in `folder`, with an empty journal. `head` needs no checksum. Errors: kFull (no room,
    // with the way out), kPermission, kIo.
    [[nodiscard]] static Result<std::unique_ptr<SpoolFile>> create(const std::string& folder, SpoolHead head,
                                                                   std::span<const std::byte> hello);

    // One that stands there. A file that was cut short gets its length back, filled with zeros; a damaged head is made
    // from its copy. Errors: kInvalid (no spool file), kUnsupported (of a newer version), kCorrupt, kTruncated,
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

    // Gives the file system back what no kept record stands in, where it can. Nothing may be pushed afterwards.
    void give_back_around(const DeliverySpool::Places& places) const;

    // What was written before is on the disk when this returns Done. Any thread. Errors: kIo.
    [[nodiscard]] Result<Done> sync() const;

    // Takes the file away; this stays usable.
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
