// The part of an ELF file that names its functions, as an ELF file of its own: headers, symbol tables, .gnu_debugdata,
// the PLT's relocations and the notes with the build-id. Sections that are left out stay as headers without content
// (SHT_NOBITS), so that offsets of symbols are those of the whole file.
//
// A small reader with a bound on everything, for it reads whatever programs a host runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::size_t kSymbolPartSizeBytesMax = 64U << 20U;  // of one file, before it is compressed

struct SymbolPart {
    std::string bytes;
    bool is_stripped = false;  // it has no .symtab
    std::string debug_link;    // the name in .gnu_debuglink; empty: none
};

// Of an open regular file. Errors: kNotFound (it has no symbols), kTooLarge, kInvalid (no ELF file of little-endian
// order, or a broken one), kIo.
[[nodiscard]] Result<SymbolPart> symbol_part_of_file(int fd, std::uint64_t file_size_bytes);

// Of a file in memory.
[[nodiscard]] Result<SymbolPart> symbol_part_of(std::span<const std::byte> elf);

}  // namespace perfleet
