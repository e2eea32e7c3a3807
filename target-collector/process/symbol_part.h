// Extracts a part of an ELF file as an ELF file of its own: headers, notes with the build-id, and either what names its
// functions (symbol tables, .gnu_debugdata, .gopclntab of stripped files, the PLT's relocations) or its source lines
// (DWARF without locations of variables). Omitted sections remain as headers without content (SHT_NOBITS), so that
// offsets of symbols are those of the whole file.
//
// A small parser with limits on everything, because it reads any program that a host runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::size_t kSymbolPartSizeBytesMax = 64U << 20U;  // of one part, uncompressed

enum class PartKind : std::uint8_t { kSymbols, kLines };

struct SymbolPart {
    std::string bytes;
    bool has_symbols = false;  // of any kind
    bool is_stripped = false;  // it has no .symtab
    bool has_lines = false;    // DWARF, in the file
    std::string debug_link;    // name in .gnu_debuglink, for kSymbols; empty: none
};

// The part of an open regular file. Errors: kTooLarge, kInvalid (not a little-endian ELF file, or a broken one), kIo.
[[nodiscard]] Result<SymbolPart> symbol_part_of_file(int fd, std::uint64_t file_size_bytes,
                                                     PartKind kind = PartKind::kSymbols);

// The part of a file in memory.
[[nodiscard]] Result<SymbolPart> symbol_part_of(std::span<const std::byte> elf, PartKind kind = PartKind::kSymbols);

}  // namespace perfleet
