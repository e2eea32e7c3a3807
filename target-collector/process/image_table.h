// The images (executables, libraries, the kernel) of the session, each once.
//
// Persists over epochs; epoch_definitions assigns an epoch's numbers. Bounded by limits::kImagesMax.
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

// The identity of an image's content: a build-id, or a hash of the content if there is none.
struct ImageContentId {
    std::array<std::byte, limits::kBuildIdSizeBytesMax> bytes{};
    std::uint8_t size_bytes = 0;
    bool is_hash = false;

    bool operator==(const ImageContentId&) const = default;
    [[nodiscard]] std::span<const std::byte> view() const { return {bytes.data(), size_bytes}; }
    // Uses at most limits::kBuildIdSizeBytesMax bytes.
    [[nodiscard]] static ImageContentId from(std::span<const std::byte> id, bool is_hash);
};

// The part of a text that can be a name in a batch: up to its first NUL, at most limits::kStringSizeBytesMax bytes.
// Borrowed.
[[nodiscard]] std::string_view name_in(std::string_view text);

struct Image {
    std::string name;
    std::uint64_t flags = 0;    // image_flags
    std::uint64_t address = 0;  // start of kernel or anonymous memory
    std::uint64_t size = 0;     // of the kernel, in bytes
    ImageContentId content;
};

// Place in the table; valid until the image is swept.
using ImageIndex = std::uint32_t;

class ImageTable {
public:
    // The image's index, existing or new; empty when the table is full. Stores name_in() of its name.
    [[nodiscard]] std::optional<ImageIndex> intern(Image image);
    [[nodiscard]] const Image& at(ImageIndex index) const { return images_[index]; }
    [[nodiscard]] std::size_t place_count() const { return images_.size(); }  // of places, free ones included
    [[nodiscard]] std::size_t image_count() const { return by_key_.size(); }

    // Removes all images except those with `is_used` set.
    void sweep(const std::vector<bool>& is_used);

private:
    std::vector<Image> images_;
    std::unordered_map<std::string, ImageIndex> by_key_;
    std::vector<ImageIndex> free_;
};

}  // namespace perfleet
