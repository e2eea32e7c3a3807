// The symbols of an ELF image by the rules of perf 6.1, so that a name here is the name in `perf report`.
//
// perf keeps symbols in a red-black tree and takes the first that covers an address on the way down; symbols may
// overlap (`_init` without a size reaches up to .text, over the PLT), so the tree's shape decides. It is built here in
// the same order. What no symbol covers in a stripped file is told apart by function (function_starts.h).
#pragma once

#include <cstddef>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_table.h"

namespace perfleet {

inline constexpr std::size_t kImageSymbolsMax = 4U << 20;
inline constexpr std::size_t kImageNamesSizeBytesMax = 256U << 20;

// `names` gives the symbols: a debug file, or the program itself. `running` is the program: its segments say where
// symbols lie in the file, its .dynsym and relocations name the PLT. Both may be the same file. `is_rest`: the names
// are those that the program's .dynsym lacks (mini_debug_info.h).
[[nodiscard]] SymbolTable symbols_of_elf(const ElfFile& names, const ElfFile& running, bool is_rest = false);

}  // namespace perfleet
