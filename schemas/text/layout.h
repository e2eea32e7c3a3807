// Lays out lines of text for a terminal or a page: width, shortening, wrapping.
//
// Text is valid UTF-8 without control characters (printable()). Widths are in columns of a terminal: a Chinese
// character takes two, a combining one none. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace perfleet {

[[nodiscard]] std::size_t text_width(std::string_view text);

// Cuts text that is wider than `width_max` in the middle and puts "…" there, because the end of a symbol says as much
// as its beginning. Leading blanks are indentation; it is reduced so that kShortenedWidthMin columns remain for the
// words, even for short words: deeper lines are never indented less.
inline constexpr std::size_t kShortenedWidthMin = 20;
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width_max);

// Breaks the text at blanks into lines of at most `width_max` columns (longer words aren't broken); lines after the
// first begin with `indentation`. Keeps newlines, and several blanks within a line. Adds no newline at the end.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width_max, std::string_view indentation = "");

// "1 row", "2 rows"; or with `several`, where no s alone makes the plural: "1 row is", "2 rows are".
[[nodiscard]] std::string counted_noun(std::uint64_t count, std::string_view noun, std::string_view several = {});

// "12345 of 1234567.89" as "12,345 of 1,234,567.89". Leaves numbers of fewer than five digits as they are, and names:
// digits beside letters, in an address, after an option, of a process or a session.
[[nodiscard]] std::string with_grouped_digits(std::string_view text);

}  // namespace perfleet
