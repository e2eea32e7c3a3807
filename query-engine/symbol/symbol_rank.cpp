#include "query-engine/symbol/symbol_rank.h"

#include <elf.h>

#include <algorithm>
#include <string>

#include "query-engine/symbol/demangle.h"

namespace perfleet {
namespace {

std::size_t leading_underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

// The variants of a constructor or destructor (C1, C2, D0, D1, D2) have one name for people. Most symbols that share
// an address are such, and demangling is slow.
bool are_variants(std::string_view a, std::string_view b) {
    if (a.size() != b.size() || !a.starts_with("_ZN") || !b.starts_with("_ZN")) {
        return false;
    }
    const auto [first, second] = std::mismatch(a.begin(), a.end(), b.begin());
    if (first == a.end()) {
        return true;
    }
    const auto at = static_cast<std::size_t>(first - a.begin());
    return (a[at - 1] == 'C' || a[at - 1] == 'D') && *first >= '0' && *first <= '5' && *second >= '0' &&
           *second <= '5' && a.substr(at + 1) == b.substr(at + 1) && at + 1 < a.size() && a[at + 1] == 'E';
}

}  // namespace

bool first_is_better(const RankedSymbol& first, const RankedSymbol& second) {
    if ((first.size_bytes == 0) != (second.size_bytes == 0)) {
        return first.size_bytes != 0;
    }
    if ((first.binding == STB_WEAK) != (second.binding == STB_WEAK)) {
        return second.binding == STB_WEAK;
    }
    if ((first.binding == STB_GLOBAL) != (second.binding == STB_GLOBAL)) {
        return first.binding == STB_GLOBAL;
    }
    if (first.name == second.name || (first.mangled && are_variants(first.name, second.name))) {
        return true;
    }
    const std::string a = first.mangled ? demangled_name(first.name) : std::string{first.name};
    const std::string b = second.mangled ? demangled_name(second.name) : std::string{second.name};
    if (leading_underscores(a) != leading_underscores(b)) {
        return leading_underscores(a) < leading_underscores(b);
    }
    if (a.size() != b.size()) {
        return a.size() > b.size();
    }
    // Aliases of system calls in older kernels.
    return !a.starts_with("SyS") && !a.starts_with("compat_SyS");
}

}  // namespace perfleet
