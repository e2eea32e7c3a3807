// The symbols of an ELF image by the rules of perf 6.1, so that a name here is the name in `perf report`.
//
// perf keeps symbols in a red-black tree and takes the first one on the way down that covers an address. Symbols may
// overlap (`_init` without a size reaches up to .text, over the PLT), so the tree's shape decides; it is built here in
// the same order. In stripped files, code without a symbol is split by function (function_starts.h).
#pragma once

#include <cstddef>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_table.h"

namespace perfleet {

inline constexpr std::size_t kImageSymbolsMax = 4U << 20;
inline constexpr std::size_t kImageNamesSizeBytesMax = 256U << 20;

// `names` has the symbols: a debug file, or the program itself. `running` is the program: its segments give file
// offsets of symbols, its .dynsym and relocations name the PLT. Both may be the same file. `is_rest`: `names` holds
// only symbols that the program's .dynsym lacks (mini_debug_info.h).
[[nodiscard]] SymbolTable symbols_of_elf(const ElfFile& names, const ElfFile& running, bool is_rest = false);

}  // namespace perfleet
