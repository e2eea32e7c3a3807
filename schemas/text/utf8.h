// Converts text from targets and files, which may be any bytes, to UTF-8 that can be printed.
//
// Hosts only. Plain functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfleet {

// The first code point of the text, and the size of its well-formed sequence (Unicode 15, table 3-7: no overlong forms,
// no surrogates, nothing past U+10FFFF). Size 0: the text is empty, or doesn't begin with such a sequence.
struct CodePoint {
    char32_t value = 0;
    std::size_t size_bytes = 0;
};
[[nodiscard]] CodePoint first_code_point(std::string_view text_untrusted);

// Characters that terminals and viewers execute instead of showing: C0, DEL, C1, line and paragraph separators, and
// those that change the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
[[nodiscard]] bool is_control(char32_t code_point);

// Replaces each byte that isn't UTF-8 by U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text_untrusted);

// One line that is safe to print: valid UTF-8, control characters and bytes that aren't UTF-8 escaped as \n, \x1b or
// \u202e.
[[nodiscard]] std::string printable(std::string_view text_untrusted);

// The same for each line: \n is kept.
[[nodiscard]] std::string printable_lines(std::string_view text_untrusted);

// Escapes control characters that JSON allows in strings; the JSON text, which must be valid UTF-8, keeps its meaning.
[[nodiscard]] std::string printable_json(std::string_view json);

}  // namespace perfleet
