// Properties of the terminal behind a standard descriptor.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "exporters/report/screen.h"

namespace perfleet {

inline constexpr std::size_t kTerminalColumns = 80;  // if the terminal doesn't report its width

// The terminal's width, else COLUMNS, else kTerminalColumns. Nothing if it is no terminal.
[[nodiscard]] std::optional<std::size_t> terminal_width(int descriptor);

// Height in lines; 0 if it is no terminal, or doesn't report it.
[[nodiscard]] std::size_t terminal_lines(int descriptor);

// `color` is always, never or auto: a terminal that isn't "dumb" has colours unless NO_COLOR is set (no-color.org).
// `is_wide`: lines may be longer than the terminal.
[[nodiscard]] Screen screen_of(int descriptor, std::string_view color = "auto", bool is_wide = false);

// "perfleet: TEXT" on standard error, with the program's name or also the command's: one line, wrapped on a terminal.
// Control characters are escaped.
void print_note(std::string_view text_untrusted, std::string_view name = "perfleet");
void print_warning(std::string_view text_untrusted);

}  // namespace perfleet
