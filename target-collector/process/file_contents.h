// Identifies the content of mapped files by build-id or hash. Each file is read once, and again after a change.
//
// The kernel identifies a mapped file by device, inode and generation. A file is read only if it is the same one and
// unchanged since it was mapped: otherwise it has no identity rather than a wrong one. One thread; bounded.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "target-collector/process/image_table.h"

namespace perfleet {

struct MappedFile {
    std::uint32_t pid = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::string_view path;  // as the kernel names it; empty: anonymous
    std::uint32_t device_major = 0;
    std::uint32_t device_minor = 0;
    std::uint64_t inode = 0;                     // 0: unknown
    std::optional<std::uint64_t> generation;     // of the inode, which may be reused; empty: unknown
    std::uint64_t mapped_ns = 0;                 // CLOCK_MONOTONIC; 0: unknown, taken as now
    std::optional<std::uint64_t> modified_ns{};  // UTC, its content's (st_mtim) when that was read; empty: it wasn't
};

class FileContents {
public:
    static constexpr std::size_t kFilesMax = 65'536;

    // Size 0: the file isn't reachable any more, or isn't the mapped one.
    [[nodiscard]] ImageContentId of(const MappedFile& file);

    // The same file with what is known of it since of().
    [[nodiscard]] MappedFile as_read(MappedFile file);

    // Opens the same file for reading; the caller must check that its content is that of of(). Empty: not reachable any
    // more, or not the mapped one.
    [[nodiscard]] static FileDescriptor open(const MappedFile& file);

    [[nodiscard]] std::uint64_t read_count() const { return read_count_; }  // of files

private:
    // Changes with every change of the file, also of its metadata.
    struct Version {
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::int64_t changed_ns = 0;  // UTC
        std::uint64_t size_bytes = 0;
        bool operator==(const Version&) const = default;
    };
    struct KnownFile {
        std::optional<std::uint64_t> generation;
        bool is_generation_sure = false;  // no other file has had this inode and generation
        std::uint64_t seen_ns = 0;        // CLOCK_MONOTONIC, when this version was seen
        std::uint32_t pid = 0;            // process below whose root it was found; 0: ours
        Version version;
        std::uint64_t modified_ns = 0;  // UTC
        ImageContentId content;
        std::int64_t content_since_ns =
            0;  // UTC; earlier than the version's change where that kept the content, as a link does
    };
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // device and inode as in the kernel's mapping

    [[nodiscard]] KnownFile* find(const MappedFile& file);
    // Empty: the path has another file. Size 0: the file has changed since it was mapped.
    [[nodiscard]] std::optional<ImageContentId> look(const std::string& path, std::uint32_t root_pid,
                                                     const MappedFile& file);
    // Null: the path has another file.
    KnownFile* read(const std::string& path, const MappedFile& file);
    [[nodiscard]] static Version version_of(const struct stat& status);
    // Size 0: it has changed since it was mapped.
    [[nodiscard]] static ImageContentId content_when_mapped(const KnownFile& known, const MappedFile& file);

    std::map<Key, KnownFile> known_;
    std::uint64_t read_count_ = 0;
};

}  // namespace perfleet
