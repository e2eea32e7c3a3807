// Checks whether an image's content is what its build-id and type say, as far as possible without reading ELF tables
// (the query process reads them, and uses no symbols whose build-id isn't the image's).
//
// Bounded for any content: kImageSizeBytesMax as sent, and kSymbolsSizeBytesMax unpacked per frame, of which at most a
// window of 2^kWindowLogMax bytes is in memory. A content that claims an excessive compression ratio is refused by the
// sizes that its frames state, before it is unpacked. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "gateway/counts/gateway_counts.h"
#include "schemas/session/image_content.h"

namespace perfleet {

inline constexpr int kWindowLogMax = 23;
// A content may unpack to kUnpackedFreeBytes plus kUnpackedRatioMax times its own size. Symbols and debug information
// unpack to 3 to 30 times their size, synthetic ones to 100 times.
inline constexpr std::uint64_t kUnpackedFreeBytes = 1U << 20;
inline constexpr std::uint64_t kUnpackedRatioMax = 200;
inline constexpr std::uint32_t kNamesOfNotesMax = 65'536;  // "GNU" in a frame; a real file has some dozens

struct ImageVerdict {
    std::optional<ImageRefusal> refusal;  // why it can't be stored; empty: it can be
    std::uint64_t unpacked_bytes = 0;     // to reach this verdict
};

// Ends early when `is_stopping` is set; the verdict is then meaningless.
[[nodiscard]] ImageVerdict check_image(std::string_view build_id, const ImageContent& content,
                                       const std::atomic<bool>* is_stopping = nullptr);

}  // namespace perfleet
