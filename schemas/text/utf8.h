// Text from targets and files, which may be any bytes, as UTF-8 that can be printed.
//
// Hosts only. Plain functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfleet {

// The code point that the text begins with, and the size of its well-formed sequence (Unicode 15, table 3-7: no
// overlong forms, no surrogates, nothing past U+10FFFF). Size 0: the text is empty, or begins with no such sequence.
struct CodePoint {
    char32_t value = 0;
    std::size_t size_bytes = 0;
};
[[nodiscard]] CodePoint first_code_point(std::string_view text_untrusted);

// Characters that a terminal or a viewer obeys instead of showing: C0, DEL, C1, line and paragraph separators, and
// those that change the direction of what follows (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069).
[[nodiscard]] bool is_control(char32_t code_point);

// The text with U+FFFD for each byte that isn't UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text_untrusted);

// One line that is safe to print: valid UTF-8, control characters and bytes that aren't UTF-8 escaped as \n, \x1b or
// \u202e.
[[nodiscard]] std::string printable(std::string_view text_untrusted);

// The same of each line: \n stays.
[[nodiscard]] std::string printable_lines(std::string_view text_untrusted);

// JSON text, which must be valid UTF-8, with the control characters escaped that JSON allows in strings: its meaning
// stays.
[[nodiscard]] std::string printable_json(std::string_view json);

}  // namespace perfleet
