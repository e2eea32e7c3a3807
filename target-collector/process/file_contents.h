// What names the content of mapped files: their build-id, or a hash. Each file is read once, and again when it changed.
//
// The kernel says which file was mapped by device, inode and generation. A file is read only where it is the same one,
// and unchanged since it was mapped: otherwise it has no name rather than a wrong one. One thread; bounded.
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
    std::uint64_t inode = 0;                  // 0: not known
    std::optional<std::uint64_t> generation;  // of the inode, which may be used again; empty: not known
    std::uint64_t mapped_ns = 0;              // CLOCK_MONOTONIC; 0: not known, it is mapped now
};

class FileContents {
public:
    static constexpr std::size_t kFilesMax = 65'536;

    // Size 0: the file can't be reached any more, or isn't what was mapped.
    [[nodiscard]] ImageContentId of(const MappedFile& file);

    // The same file, open for reading: whoever reads it checks that its content is that of of(). Empty: it can't be
    // reached any more, or isn't what was mapped.
    [[nodiscard]] static FileDescriptor open(const MappedFile& file);

    [[nodiscard]] std::uint64_t read_count() const { return read_count_; }  // of files

private:
    // Changes whenever the file does, its content or not.
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
        std::uint64_t seen_ns = 0;        // CLOCK_MONOTONIC, when it had this version
        std::uint32_t pid = 0;            // of a process whose root folder it was found in; 0: our own
        Version version;
        ImageContentId content;
        std::int64_t content_since_ns =
            0;  // UTC; earlier than the version's change where that kept the content, as a link does
    };
    using Key = std::pair<std::uint64_t, std::uint64_t>;  // device and inode as the kernel maps it

    [[nodiscard]] KnownFile* find(const MappedFile& file);
    // Empty: what is there isn't the file. Size 0: it is, but has changed since it was mapped.
    [[nodiscard]] std::optional<ImageContentId> look(const std::string& path, std::uint32_t root_pid,
                                                     const MappedFile& file);
    // Null: the same.
    KnownFile* read(const std::string& path, const MappedFile& file);
    [[nodiscard]] static Version version_of(const struct stat& status);
    // Size 0: it has changed since it was mapped.
    [[nodiscard]] static ImageContentId content_when_mapped(const KnownFile& known, const MappedFile& file);

    std::map<Key, KnownFile> known_;
    std::uint64_t read_count_ = 0;
};

}  // namespace perfleet
