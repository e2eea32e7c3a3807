// Build-ids as perf has them.
//
// Freestanding.
#pragma once

#include <string_view>

namespace perfleet::perf {

// perf pads build-ids with zeros: of a linker's short ones, and in records without their length.
[[nodiscard]] constexpr bool is_same_build_id(std::string_view a, std::string_view b) {
    const std::string_view shorter = a.size() <= b.size() ? a : b;
    const std::string_view longer = a.size() <= b.size() ? b : a;
    return shorter.empty() ? longer.empty()
                           : longer.starts_with(shorter) &&
                                 longer.substr(shorter.size()).find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace perfleet::perf
