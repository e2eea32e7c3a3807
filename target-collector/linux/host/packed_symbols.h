// Symbols in the form in which they are sent to the store (schemas/wire/README.md): zstd frames with content sizes.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/process/symbol_part.h"

namespace perfleet {

inline constexpr std::size_t kPackedLinesSizeBytesMax = 12U << 20U;  // larger debug information isn't kept

// One frame. Empty: out of memory.
[[nodiscard]] std::string packed_symbols(std::string_view bytes);

struct PackedSymbols {
    std::string bytes;      // empty: neither the file nor its debug file has symbols
    bool is_whole = false;  // includes the build's .symtab
};

// Opens the separate debug file of a file with these symbols; empty: none.
using OpenDebugFile = std::function<FileDescriptor(const SymbolPart&)>;

// Packs the symbols of an open program or library; those of its debug file, if it is stripped; and the debug
// information of either for lines and inlined functions, unless it is too large. Ignores a debug file of another build.
// Errors: those of symbol_part_of_file(), kTooLarge.
[[nodiscard]] Result<PackedSymbols> packed_symbols_of_file(int fd, const OpenDebugFile& open_debug_file);

}  // namespace perfleet
