// Where ELF files of an image may lie that have its symbols. Places are perf's (tools/perf/util/dso.c); whether a file
// is there, and is of this image, its build-id says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// The build-id that a file of the image must have, raw; empty: none. A hash of the content is none.
[[nodiscard]] std::string_view build_id_of(const ImageDefinition& image);

// The image's own file, below symfs; empty where it isn't one.
[[nodiscard]] std::string own_file_of(const ImageDefinition& image, const SymbolPaths& paths);

// In this order; the image's own file is the last.
[[nodiscard]] std::vector<std::string> symbol_files_of(const ImageDefinition& image, const SymbolPaths& paths);

// What a stripped file calls its debug file (.gnu_debuglink), which lies beside it, in .debug there, or below a folder
// for debug files where the image says it is. Empty without a build-id, for nothing else tells that it is of this one.
[[nodiscard]] std::vector<std::string> linked_debug_files_of(const ElfFile& own_file, const ImageDefinition& image,
                                                             const SymbolPaths& paths);

}  // namespace perfleet
