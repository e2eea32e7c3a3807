// The symbols of a kernel or a module of it, as the collector sent them: the text in `ImageType::kKernelSymbols`
// (schemas/wire/README.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "query-engine/symbol/symbol_table.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::size_t kKernelSymbolsMax = 4U << 20;

// `text` is untrusted: lines that can't be read are left out, and counted in `bad_lines`. Which symbols are taken, and
// how far they reach, is perf's rule for /proc/kallsyms.
[[nodiscard]] Result<SymbolTable> symbols_of_kernel(std::string_view text, std::uint64_t& bad_lines);

}  // namespace perfleet
