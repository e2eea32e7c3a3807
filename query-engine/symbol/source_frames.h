// Finds source lines and inlined functions of frames: looks for the file with an image's DWARF, and the address of an
// offset in it.
//
// Searches where symbols are searched (symbol_files.h), and uses only files with the image's build-id. The last used
// files stay open, with debug sections of at most kDebugSectionsSizeBytesMax in total, plus the one in use.
// Thread-safe; one thread at a time reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "query-engine/symbol/debug_lines.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/pprof/kept_sources.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/dictionary/epoch_dictionary.h"
#include "storage/read/reader.h"

namespace perfleet {

class SourceFrames : NonCopyable {
public:
    // Borrows the store; may be null.
    SourceFrames(const StoreReader* store, SymbolPaths paths);
    ~SourceFrames();

    // DebugLines::frames_at() for each of these offsets (as Frame::offset), or the place that an import kept; empty for
    // kernels and images without available debug information.
    [[nodiscard]] std::vector<std::vector<SourceFrame>> frames_at(const ImageDefinition& image,
                                                                  std::span<const std::uint64_t> offsets);

    // Source places of an image whose symbols an import made; null: none.
    [[nodiscard]] std::shared_ptr<const KeptSources> kept_sources(const ImageDefinition& image);

    // Files that could not be read, each named once.
    [[nodiscard]] std::vector<std::string> warnings() const;

private:
    class Files;
    std::unique_ptr<Files> files_;
};

}  // namespace perfleet
