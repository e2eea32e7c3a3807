// The symbols of a kernel or of one of its modules that the collector sent: the text in `ImageType::kKernelSymbols`
// (schemas/wire/README.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "query-engine/symbol/symbol_table.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::size_t kKernelSymbolsMax = 4U << 20;

// `text` is untrusted: malformed lines are skipped and counted in `bad_lines`. Symbols and their ends follow perf's
// rules for /proc/kallsyms.
[[nodiscard]] Result<SymbolTable> symbols_of_kernel(std::string_view text, std::uint64_t& bad_lines);

}  // namespace perfleet
