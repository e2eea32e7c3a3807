// The ImageOffers message: images whose content the gateway may ask for, beside those of the Hello.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/wire/hello_limits.h"

namespace perfleet {

struct OfferedImage {
    std::span<const std::byte> build_id{};
    std::uint16_t type = 0;  // protocol::ImageType
    std::uint64_t size_bytes = 0;
};

// Writes an Envelope with the ImageOffers into `out` and returns its size in bytes. Faults: kFull; kTooLarge (above
// hello_limits::kImageOffersMax).
[[nodiscard]] Checked<std::size_t> write_image_offers(SessionId session, std::span<const OfferedImage> offers,
                                                      std::span<std::byte> out);

}  // namespace perfleet
