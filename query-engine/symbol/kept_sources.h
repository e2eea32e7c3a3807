// Source places of the functions of an image whose symbols an import made: the source data that the imported file has
// of each frame and mapping. Stored as the second frame of the image's content of `ImageType::kKernelSymbols`
// (schemas/wire/README.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/dictionary/epoch_dictionary.h"

namespace perfleet {

// Imports give each frame this many offsets, so that the offset before a return address belongs to the same frame.
inline constexpr std::uint64_t kKeptPlaceSizeBytes = 16;

struct KeptSources {
    struct Place {
        std::uint64_t address = 0;    // in the mapping, as recorded
        std::int64_t line = 0;        // 0: not known
        std::uint32_t file = 0;       // of files
        std::int64_t column = 0;      // 0: not known
        std::int64_t first_line = 0;  // of the function; 0: not known
        bool is_inlined = false;      // into the frame that called it

        friend bool operator==(const Place&, const Place&) = default;
    };

    std::string build_id;  // as text; empty: not known
    std::uint64_t start = 0;
    std::uint64_t limit = 0;
    std::uint64_t file_offset = 0;
    // Flags of the mapping as in pprof: has functions (1), file names (2), line numbers (4), inlined frames (8).
    std::uint32_t flags = 0;
    // Of the whole profile; repeated with each of its images.
    std::vector<std::string> comments;  // may have several lines
    std::string drop_frames;
    std::string keep_frames;
    std::vector<std::string> files{{}};
    std::vector<Place> places;  // number N has offset N * kKeptPlaceSizeBytes

    // The place at an offset, or at the offset after it, because callers are looked up one before; nullptr: none.
    [[nodiscard]] const Place* find(std::uint64_t offset) const;
};

// Whether an import made the image's symbols.
[[nodiscard]] bool has_made_names(const ImageDefinition& image);

[[nodiscard]] std::string kept_sources_text(const KeptSources& sources);

// Errors: kCorrupt.
[[nodiscard]] Result<KeptSources> parse_kept_sources(std::string_view text_untrusted);

}  // namespace perfleet
