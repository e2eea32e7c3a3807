// Source positions of the functions of an image whose symbols come from an import. Stored as the second frame of the
// image's content of `ImageType::kKernelSymbols` (schemas/wire/README.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

// Imports give each frame this many offsets, so that the offset before a return address belongs to the same frame.
inline constexpr std::uint64_t kKeptPlaceSizeBytes = 16;

struct KeptSources {
    struct Place {
        std::int64_t line = 0;   // 0: not known
        std::uint32_t file = 0;  // of files
    };

    std::vector<std::string> files{{}};
    std::vector<Place> places;  // number N has offset N * kKeptPlaceSizeBytes

    // The place at an offset, or at the next offset, because callers are looked up one byte before their return
    // address; nullptr: none.
    [[nodiscard]] const Place* find(std::uint64_t offset) const;
};

[[nodiscard]] std::string kept_sources_text(const KeptSources& sources);

// Errors: kCorrupt.
[[nodiscard]] Result<KeptSources> parse_kept_sources(std::string_view text_untrusted);

}  // namespace perfleet
