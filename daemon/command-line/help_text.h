// Help of a program, no line wider than a terminal of 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace perfleet {

inline constexpr std::size_t kHelpColumns = 80;

// Descriptions of options and commands are wrapped, and so are the paragraphs of the program's own description and
// footer; their indented lines stay lines.
class HelpText : public CLI::Formatter {
public:
    std::string make_option_opts(const CLI::Option* option) const override;
    std::string make_option_desc(const CLI::Option* option) const override;
    std::string make_subcommand(const CLI::App* command) const override;
    std::string make_description(const CLI::App* app) const override;
    std::string make_footer(const CLI::App* app) const override;
    std::string make_usage(const CLI::App* app, std::string name) const override;
};

}  // namespace perfleet
