// Decides which of two symbols with the same start is shown, as perf does (symbol.c, choose_best_symbol).
#pragma once

#include <cstdint>
#include <string_view>

namespace perfleet {

struct RankedSymbol {
    std::uint64_t size_bytes = 0;
    std::uint8_t binding = 0;  // STB_*
    std::string_view name;
    bool mangled = false;  // demangle the name before ranking it
};

// `first` is the one that comes first in the table.
[[nodiscard]] bool first_is_better(const RankedSymbol& first, const RankedSymbol& second);

}  // namespace perfleet
