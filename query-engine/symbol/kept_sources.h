// Where the functions of an image are defined whose names an import made: what its file says of each frame, and of the
// mapping that they were in. Kept as the second frame of the image's content of `ImageType::kKernelSymbols`
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

// Each of an import's frames has so many offsets of its own, so that one before it is of the same frame.
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
    // Of the mapping as pprof has them: has functions (1), names of files (2), numbers of lines (4), inlined frames
    // (8).
    std::uint32_t flags = 0;
    // Of the whole profile, said with each of its images.
    std::vector<std::string> comments;  // may have several lines
    std::string drop_frames;
    std::string keep_frames;
    std::vector<std::string> files{{}};
    std::vector<Place> places;  // the one of offset N * kKeptPlaceSizeBytes is number N

    // The place of an offset, or of the one behind it, as callers are looked up; nullptr: there is none.
    [[nodiscard]] const Place* find(std::uint64_t offset) const;
};

// Whether an import made the names of the image.
[[nodiscard]] bool has_made_names(const ImageDefinition& image);

[[nodiscard]] std::string kept_sources_text(const KeptSources& sources);

// Errors: kCorrupt.
[[nodiscard]] Result<KeptSources> parse_kept_sources(std::string_view text_untrusted);

}  // namespace perfleet
