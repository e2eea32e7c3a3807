#include "tools/perfleet/shell/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "exporters/report/report_parts.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

constexpr std::size_t kColumnsMax = 10'000;

bool is_set(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && value[0] != '\0';
}

bool has_color(int descriptor, std::string_view color) {
    if (color != "auto") {
        return color == "always";
    }
    const char* const terminal = std::getenv("TERM");
    return ::isatty(descriptor) == 1 && !is_set("NO_COLOR") && terminal != nullptr &&
           std::string_view{terminal} != "dumb";
}

}  // namespace

std::optional<std::size_t> terminal_width(int descriptor) {
    if (::isatty(descriptor) != 1) {
        return std::nullopt;
    }
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
        return size.ws_col;
    }
    const char* const columns = std::getenv("COLUMNS");
    const std::size_t count = columns == nullptr ? 0 : std::strtoul(columns, nullptr, 10);
    return count != 0 && count <= kColumnsMax ? count : kTerminalColumns;
}

std::size_t terminal_lines(int descriptor) {
    winsize size{};
    return ::isatty(descriptor) == 1 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

Screen screen_of(int descriptor, std::string_view color, bool is_wide) {
    const std::optional<std::size_t> width = is_wide ? std::nullopt : terminal_width(descriptor);
    return {width.value_or(Screen::kUnlimited), has_color(descriptor, color), ::isatty(descriptor) == 1};
}

void print_note(std::string_view text_untrusted, std::string_view name) {
    const std::string text = std::string{name} + ": " + printable(text_untrusted);
    const Screen screen = screen_of(STDERR_FILENO);
    std::fprintf(stderr, "%s\n", wrapped(grouped_for(text, screen), screen.width_columns, "  ").c_str());
}

void print_warning(std::string_view text_untrusted) { print_note("warning: " + std::string{text_untrusted}); }

}  // namespace perfleet
