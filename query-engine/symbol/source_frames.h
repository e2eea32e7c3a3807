// Source lines and inlined functions of the frames of images: which file has the DWARF of an image, and where in it an
// offset lies.
//
// Files are looked for where symbols are (symbol_files.h), and used only if their build-id is the image's. Those that
// were used last stay open, their debug sections together no larger than kDebugSectionsSizeBytesMax, beside the one in
// use. Thread-safe; one thread at a time reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "query-engine/symbol/debug_lines.h"
#include "query-engine/symbol/kept_sources.h"
#include "query-engine/symbol/symbolizer.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/read/reader.h"

namespace perfleet {

class SourceFrames {
public:
    // Borrows the store; may be null.
    SourceFrames(const StoreReader* store, SymbolPaths paths);
    ~SourceFrames();
    SourceFrames(const SourceFrames&) = delete;
    SourceFrames& operator=(const SourceFrames&) = delete;

    // For each of these offsets (as Frame::offset) what DebugLines::frames_at() gives, or the place that an import
    // kept; nothing where the image has no debug information here, and for kernels.
    [[nodiscard]] std::vector<std::vector<SourceFrame>> frames_at(const ImageDefinition& image,
                                                                  std::span<const std::uint64_t> offsets);

    // Of an image whose names an import made; null: nothing is kept of it.
    [[nodiscard]] std::shared_ptr<const KeptSources> kept_sources(const ImageDefinition& image);

    // What could not be read, each named once.
    [[nodiscard]] std::vector<std::string> warnings() const;

private:
    class Files;
    std::unique_ptr<Files> files_;
};

}  // namespace perfleet
