// Symbols as they travel to the store (schemas/wire/README.md): zstd frames with their contents' sizes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/process/symbol_part.h"

namespace perfleet {

inline constexpr std::size_t kPackedLinesSizeBytesMax = 12U << 20U;  // more of a file's aren't kept

// One frame. Empty: out of memory.
[[nodiscard]] std::string packed_symbols(std::string_view bytes);

struct PackedSymbols {
    std::string bytes;      // empty: neither the file nor its debug file has symbols
    bool is_whole = false;  // with the .symtab of the build
};

// Opens the separate debug file of the file with these symbols; empty: there is none.
using OpenDebugFile = std::function<FileDescriptor(const SymbolPart&)>;

// Of an open program or library: its symbols; those of its debug file, if it is stripped; and the debug information
// of either that says lines and inlined functions, unless that is too large. A debug file of another build is not
// used. Errors: those of symbol_part_of_file(), kTooLarge.
[[nodiscard]] Result<PackedSymbols> packed_symbols_of_file(int fd, const OpenDebugFile& open_debug_file);

}  // namespace perfleet
