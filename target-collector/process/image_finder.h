// From what is mapped (a path, and which file it is) to the session's image.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "target-collector/process/file_contents.h"
#include "target-collector/process/image_table.h"

namespace perfleet {

class ImageFinder {
public:
    explicit ImageFinder(ImageTable& table);

    // Empty when the table is full. May read the file.
    [[nodiscard]] std::optional<ImageIndex> find(const MappedFile& file);

    // Which file an image was found in last, without its path and mapping; inode 0: in none.
    [[nodiscard]] MappedFile file_of(ImageIndex index) const {
        return index < mapped_.size() ? mapped_[index] : MappedFile{};
    }

    // True for memory that no file stands behind: its frames count from the mapping's start.
    [[nodiscard]] static bool is_without_file(std::string_view path);

    // The kernel's vdso as it is mapped into this process; empty where it isn't.
    [[nodiscard]] static std::span<const std::byte> own_vdso();

private:
    ImageTable& table_;
    ImageContentId vdso_;
    FileContents files_;
    std::vector<MappedFile> mapped_;  // by image
};

}  // namespace perfleet
