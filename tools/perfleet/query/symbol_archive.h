// The files that perf needs beside a perf.data file to have symbols on another machine: what `perf archive` would pack,
// in a folder of the layout of perf's build-id cache (`perf --buildid-dir FOLDER`; or copied into ~/.debug).
//
//   FILE.debug/.build-id/3f/a1…/elf         programs and libraries
//   FILE.debug/.build-id/48/dc…/kallsyms    the kernel, where this machine runs the recorded one
//
// Files are taken from where symbols are looked for, those with the build-id alone.
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
    std::vector<std::string> missing;  // paths of images of which no file is here
};

// Errors: those of reading the perf.data file and of writing the folder.
[[nodiscard]] Result<SymbolArchive> archive_symbols(const std::string& perf_data_file, const SymbolPaths& paths);

}  // namespace perfleet
