// Suggests known names for an unknown one: "top" for "tpo".
//
// Hosts only; errors: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {

// The least number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other,
// without editing a substring twice (optimal string alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The names nearest to `word`, if they are near enough; ties in their order; at most three. Near enough: at most a
// third of the letters differ, or `word` is a prefix of the name with at least three letters.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view word, const std::vector<std::string>& names);

// "; did you mean 'top' or 'tree'?"; empty if there are no names.
[[nodiscard]] std::string suggestion_of(const std::vector<std::string>& names);

// The suggestion of the nearest names.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace perfleet
