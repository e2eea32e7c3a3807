// Collects the files that perf needs for symbols of a perf.data file on another machine, as `perf archive` does, in a
// folder with the layout of perf's build-id cache (`perf --buildid-dir FOLDER`, or copied into ~/.debug).
//
//   FILE.debug/.build-id/3f/a1…/elf         programs and libraries
//   FILE.debug/.build-id/48/dc…/kallsyms    the kernel, if this machine runs the recorded one
//
// Files are taken from where symbols are looked up, and only with the same build-id.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "query-engine/symbol/symbolizer.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct SymbolArchive {
    std::string folder;
    std::size_t file_count = 0;
    std::vector<std::string> missing;  // paths of images without a file on this machine
};

// Errors: those of reading the perf.data file and of writing the folder.
[[nodiscard]] Result<SymbolArchive> archive_symbols(const std::string& perf_data_file, const SymbolPaths& paths);

}  // namespace perfleet
