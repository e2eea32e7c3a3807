// The Image message: a part of an image's content that the gateway asked for.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"

namespace perfleet {

struct ImageChunk {
    SessionId session{};
    std::span<const std::byte> build_id{};
    std::uint16_t type = 0;        // protocol::ImageType
    std::uint64_t size_bytes = 0;  // of the whole content
    std::uint64_t offset_bytes = 0;
    std::span<const std::byte> bytes{};
};

// Size of the message without the chunk's own bytes.
inline constexpr std::size_t kImageChunkOverheadBytes = 160;

// Writes an Envelope with the Image into `out` and returns its size in bytes. Faults: kFull.
[[nodiscard]] Checked<std::size_t> write_image_chunk(const ImageChunk& chunk, std::span<std::byte> out);

}  // namespace perfleet
