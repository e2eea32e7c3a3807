// Where functions begin in a file whose symbols were stripped: the search table of its .eh_frame_hdr has an entry for
// each function that can be unwound, which strip leaves there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "query-engine/symbol/elf_file.h"

namespace perfleet {

inline constexpr std::size_t kFunctionStartsMax = 1U << 20;

// Addresses, ascending, each once. Empty: the file has no such table, or one that isn't made as linkers make them.
[[nodiscard]] std::vector<std::uint64_t> function_starts(const ElfFile& file);

}  // namespace perfleet
