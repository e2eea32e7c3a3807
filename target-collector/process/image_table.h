// The images (executables, libraries, the kernel) that the session has met, each once.
//
// Lives through all epochs; numbers of an epoch are epoch_definitions' business. Bounded by limits::kImagesMax.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {

// What names an image's content: a build-id, or a hash of the content where there is none.
struct ImageContentId {
    std::array<std::byte, limits::kBuildIdSizeBytesMax> bytes{};
    std::uint8_t size_bytes = 0;
    bool is_hash = false;

    bool operator==(const ImageContentId&) const = default;
    [[nodiscard]] std::span<const std::byte> view() const { return {bytes.data(), size_bytes}; }
    // At most limits::kBuildIdSizeBytesMax bytes are taken.
    [[nodiscard]] static ImageContentId from(std::span<const std::byte> id, bool is_hash);
};

// What of a text can be a name in a batch: up to its first NUL, limits::kStringSizeBytesMax at most. Borrowed.
[[nodiscard]] std::string_view name_in(std::string_view text);

struct Image {
    std::string name;
    std::uint64_t flags = 0;    // image_flags
    std::uint64_t address = 0;  // kernel and anonymous memory: where it starts
    std::uint64_t size = 0;     // kernel: how long it is
    ImageContentId content;
};

// Place in the table; valid until the image is swept.
using ImageIndex = std::uint32_t;

class ImageTable {
public:
    // The image's place, old or new; empty when the table is full. Its name is name_in() of it.
    [[nodiscard]] std::optional<ImageIndex> intern(Image image);
    [[nodiscard]] const Image& at(ImageIndex index) const { return images_[index]; }
    [[nodiscard]] std::size_t place_count() const { return images_.size(); }  // of places, free ones included
    [[nodiscard]] std::size_t image_count() const { return by_key_.size(); }

    // Forgets all images but those whose place is set in `is_used`.
    void sweep(const std::vector<bool>& is_used);

private:
    std::vector<Image> images_;
    std::unordered_map<std::string, ImageIndex> by_key_;
    std::vector<ImageIndex> free_;
};

}  // namespace perfleet
