// Whether an image's content is what its build-id and type say, as far as that can be seen without reading ELF tables
// (the query process does that, and uses no symbols whose build-id isn't the image's).
//
// Bounded whatever the content: kImageSizeBytesMax as sent, kSymbolsSizeBytesMax unpacked, of which a window of
// 2^kWindowLogMax bytes at most is in memory. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "gateway/gateway_counts.h"
#include "storage/store/store.h"

namespace perfleet {

inline constexpr std::size_t kSymbolsSizeBytesMax = 64U << 20;  // unpacked, of each frame
inline constexpr int kWindowLogMax = 23;

// Why it can't be stored; empty: it can.
[[nodiscard]] std::optional<ImageRefusal> refusal_of_image(std::string_view build_id, const ImageContent& content);

}  // namespace perfleet
