// Which known name was meant by an unknown one: "tpo" is "top".
//
// Hosts only; errors: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {

// Insertions, deletions, replacements and swaps of neighbours that make one of the other, each of them at most once a
// place (optimal string alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// Those of `names` that are near enough to have been meant, the nearest alone, ties in their order; at most three.
// Near: at most a third of the letters differ, or `word` is the beginning of the name and has three letters.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view word, const std::vector<std::string>& names);

// "; did you mean 'top' or 'tree'?", or nothing where there are none.
[[nodiscard]] std::string suggestion_of(const std::vector<std::string>& names);

// That of the nearest names.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace perfleet
