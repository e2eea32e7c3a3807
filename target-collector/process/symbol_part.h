// A part of an ELF file as an ELF file of its own: headers, the notes with the build-id, and what names its functions
// (symbol tables, .gnu_debugdata, .gopclntab of stripped files, the PLT's relocations) or its source lines (DWARF, but
// not that of variables' places). Sections that are left out stay as headers without content (SHT_NOBITS), so that
// offsets of symbols are those of the whole file.
//
// A small reader with a bound on everything, for it reads whatever programs a host runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::size_t kSymbolPartSizeBytesMax = 64U << 20U;  // of one part, before it is compressed

enum class PartKind : std::uint8_t { kSymbols, kLines };

struct SymbolPart {
    std::string bytes;
    bool has_symbols = false;  // of any kind
    bool is_stripped = false;  // it has no .symtab
    bool has_lines = false;    // DWARF, in the file
    std::string debug_link;    // the name in .gnu_debuglink, of kSymbols; empty: none
};

// Of an open regular file. Errors: kTooLarge, kInvalid (no ELF file of little-endian order, or a broken one), kIo.
[[nodiscard]] Result<SymbolPart> symbol_part_of_file(int fd, std::uint64_t file_size_bytes,
                                                     PartKind kind = PartKind::kSymbols);

// Of a file in memory.
[[nodiscard]] Result<SymbolPart> symbol_part_of(std::span<const std::byte> elf, PartKind kind = PartKind::kSymbols);

}  // namespace perfleet
