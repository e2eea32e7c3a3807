// Starts of functions in a stripped file: the search table of .eh_frame_hdr, which strip keeps, has an entry for each
// function that can be unwound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "query-engine/symbol/elf_file.h"

namespace perfleet {

inline constexpr std::size_t kFunctionStartsMax = 1U << 20;

// Addresses, ascending, each once. Empty if the file has no such table, or it isn't in the form that linkers write.
[[nodiscard]] std::vector<std::uint64_t> function_starts(const ElfFile& file);

}  // namespace perfleet
