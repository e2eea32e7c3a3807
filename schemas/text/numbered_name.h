// Makes equal names distinct by a number: `cpu-clock`, `cpu-clock#2`.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace perfleet {

// `name`, or `name` with the least number from 2 on that makes it differ from the names of all `taken`, as returned by
// `name_of`.
template <class Range, class NameOf>
[[nodiscard]] std::string numbered(std::string name, const Range& taken, const NameOf& name_of) {
    const auto is_taken = [&](const std::string& text) {
        return std::any_of(taken.begin(), taken.end(), [&](const auto& one) { return name_of(one) == text; });
    };
    std::string free = name;
    for (std::size_t number = 2; is_taken(free); ++number) {
        free = name + "#" + std::to_string(number);
    }
    return free;
}

// The name without such a number.
[[nodiscard]] inline std::string_view without_number(std::string_view name) {
    const std::size_t at = name.rfind('#');
    if (at == std::string_view::npos || at == 0 || at + 1 == name.size()) {
        return name;
    }
    unsigned number = 0;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + at + 1, end, number);
    return read.ptr == end && number >= 2 ? name.substr(0, at) : name;
}

}  // namespace perfleet
