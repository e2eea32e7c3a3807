// Finds the session's image of a mapping, from its path and file.
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

    // The file in which an image was found last, without path and time of mapping; inode 0: none.
    [[nodiscard]] MappedFile file_of(ImageIndex index) const {
        return index < mapped_.size() ? mapped_[index] : MappedFile{};
    }

    // True for memory without a file: its frames are relative to the mapping's start.
    [[nodiscard]] static bool is_without_file(std::string_view path);

    // The vdso as mapped into this process; empty if there is none.
    [[nodiscard]] static std::span<const std::byte> own_vdso();

private:
    ImageTable& table_;
    ImageContentId vdso_;
    FileContents files_;
    std::vector<MappedFile> mapped_;  // by image
};

}  // namespace perfleet
