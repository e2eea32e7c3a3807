// Whether an image's content is what its build-id and type say, as far as that can be seen without reading ELF tables
// (the query process does that, and uses no symbols whose build-id isn't the image's).
//
// Bounded whatever the content: kImageSizeBytesMax as sent, kSymbolsSizeBytesMax unpacked of each frame, of which a
// window of 2^kWindowLogMax bytes at most is in memory. A content that unpacks to far more than it has bytes is refused
// by the sizes that its frames state, before it is unpacked. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/counts/gateway_counts.h"
#include "storage/model/image.h"

namespace perfleet {

inline constexpr std::size_t kSymbolsSizeBytesMax = 64U << 20;  // unpacked, of each frame
inline constexpr int kWindowLogMax = 23;
// Unpacked bytes of a content: so many, and for each of its bytes so many more. Symbols and debug information unpack to
// 3 to 30 times their size, synthetic ones to 100 times.
inline constexpr std::uint64_t kUnpackedFreeBytes = 1U << 20;
inline constexpr std::uint64_t kUnpackedRatioMax = 200;
inline constexpr std::uint32_t kNamesOfNotesMax = 65'536;  // "GNU" in a frame; a file has some dozens

struct ImageVerdict {
    std::optional<ImageRefusal> refusal;  // why it can't be stored; empty: it can
    std::uint64_t unpacked_bytes = 0;     // for this verdict
};

// Ends early when `is_stopping` is set; the verdict then means nothing.
[[nodiscard]] ImageVerdict check_image(std::string_view build_id, const ImageContent& content,
                                       const std::atomic<bool>* is_stopping = nullptr);

}  // namespace perfleet
