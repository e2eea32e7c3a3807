// Help of the command line, no line wider than a terminal of 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string>

#include "tools/perfleet/terminal.h"

namespace perfleet {

class HelpText : public CLI::Formatter {
public:
    std::string make_option_desc(const CLI::Option* option) const override {
        return wrapped(CLI::Formatter::make_option_desc(option));
    }
    std::string make_subcommand(const CLI::App* command) const override {
        std::ostringstream text;
        CLI::detail::format_help(text, command->get_display_name(true), wrapped(command->get_description()),
                                 get_column_width());
        return text.str();
    }

private:
    // At blanks; CLI11 puts what follows a newline below the rest of the description.
    [[nodiscard]] std::string wrapped(const std::string& text) const {
        const std::size_t width = kTerminalColumns - get_column_width();
        std::string lines;
        std::size_t used = 0;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find(' ', at), text.size());
            const std::string word = text.substr(at, end - at);
            const std::size_t columns = columns_of(word);
            if (used != 0 && used + 1 + columns > width) {
                lines += "\n";
                used = 0;
            }
            lines += (used == 0 ? "" : " ") + word;
            used += columns + (used == 0 ? 0 : 1);
            at = end + 1;
        }
        return lines;
    }
    // Code points, near enough.
    static std::size_t columns_of(const std::string& text) {
        return static_cast<std::size_t>(std::count_if(
            text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
    }
};

}  // namespace perfleet
