// From what is mapped (a path, a file's identity, a build-id from the kernel) to the session's image.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "target-collector/source/linux/image_table.h"

namespace perfleet {

struct MappedFile {
    std::uint32_t pid = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::string_view path;                // as the kernel names it; empty: anonymous
    std::uint64_t inode = 0;              // 0: not known
    std::span<const std::byte> build_id;  // empty: the kernel gave none
};

class ImageFinder {
public:
    explicit ImageFinder(ImageTable& table);

    // Empty when the table is full. May read the file, once for each of its versions.
    [[nodiscard]] std::optional<ImageIndex> find(const MappedFile& file);

    // True for memory that no file stands behind: its frames count from the mapping's start.
    [[nodiscard]] static bool is_without_file(std::string_view path);

private:
    ImageContentId content_of(const MappedFile& file);

    static constexpr std::size_t kFilesMax = 65'536;
    // device, inode, modification time in ns, size
    using FileVersion = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::uint64_t>;

    ImageTable& table_;
    ImageContentId vdso_;
    std::map<FileVersion, ImageContentId> contents_;
};

}  // namespace perfleet
