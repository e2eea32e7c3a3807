// Lines of text laid out for a terminal or a page: how wide they are, shortened, wrapped.
//
// Text is valid UTF-8 without control characters (printable()). Widths are in columns of a terminal: a Chinese
// character takes two, a combining one none. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfleet {

[[nodiscard]] std::size_t text_width(std::string_view text);

// What is wider is cut in the middle, where "…" then stands: a symbol's end says as much as its beginning. Blanks at
// the beginning are an indentation, which leaves at least kShortenedWidthMin for the words, also where they are short:
// nobody stands further to the right than who is deeper.
inline constexpr std::size_t kShortenedWidthMin = 20;
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width_max);

// Broken at blanks into lines of `width_max` columns where words are short enough; lines after the first one begin with
// `indentation`. Newlines in the text stay, and so do several blanks within a line. No newline at the end unless the
// text ends so.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width_max, std::string_view indentation = "");

}  // namespace perfleet
