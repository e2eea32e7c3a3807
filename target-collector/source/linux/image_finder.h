// From what is mapped (a path, and which file it is) to the session's image.
#pragma once

#include <optional>
#include <string_view>

#include "target-collector/source/linux/file_contents.h"
#include "target-collector/source/linux/image_table.h"

namespace perfleet {

class ImageFinder {
public:
    explicit ImageFinder(ImageTable& table);

    // Empty when the table is full. May read the file.
    [[nodiscard]] std::optional<ImageIndex> find(const MappedFile& file);

    // True for memory that no file stands behind: its frames count from the mapping's start.
    [[nodiscard]] static bool is_without_file(std::string_view path);

private:
    ImageTable& table_;
    ImageContentId vdso_;
    FileContents files_;
};

}  // namespace perfleet
