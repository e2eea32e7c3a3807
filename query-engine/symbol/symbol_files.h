// Candidate paths of ELF files with an image's symbols, as in perf (tools/perf/util/dso.c). Callers check that the file
// exists and has the image's build-id.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// The raw build-id that a file of the image must have; empty: none. A content hash doesn't count.
[[nodiscard]] std::string_view build_id_of(const ImageDefinition& image);

// The image's own file, below symfs; empty if the image isn't a file.
[[nodiscard]] std::string own_file_of(const ImageDefinition& image, const SymbolPaths& paths);

// In search order; the image's own file is the last.
[[nodiscard]] std::vector<std::string> symbol_files_of(const ImageDefinition& image, const SymbolPaths& paths);

// Candidates for the debug file that a stripped file names (.gnu_debuglink): beside it, in .debug there, or below a
// debug folder at the image's path. Empty without a build-id, because nothing else proves that a file belongs to this
// build.
[[nodiscard]] std::vector<std::string> linked_debug_files_of(const ElfFile& own_file, const ImageDefinition& image,
                                                             const SymbolPaths& paths);

}  // namespace perfleet
