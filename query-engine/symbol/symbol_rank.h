// Which of two symbols with one start is shown: perf's choice (symbol.c, choose_best_symbol).
#pragma once

#include <cstdint>
#include <string_view>

namespace perfleet {

struct RankedSymbol {
    std::uint64_t size_bytes = 0;
    std::uint8_t binding = 0;  // STB_*
    std::string_view name;
    bool mangled = false;  // the name is to be demangled before it is judged
};

// The one that comes first in the table is `first`.
[[nodiscard]] bool first_is_better(const RankedSymbol& first, const RankedSymbol& second);

}  // namespace perfleet
