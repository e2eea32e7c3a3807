// A program's help, in lines of at most 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace perfleet {

inline constexpr std::size_t kHelpColumns = 80;

// Wraps descriptions of options and commands, and paragraphs of the program's own description and footer; keeps their
// indented lines.
class HelpText : public CLI::Formatter {
public:
    std::string make_option_opts(const CLI::Option* option) const override;
    std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
    std::string make_option_desc(const CLI::Option* option) const override;
    std::string make_subcommand(const CLI::App* command) const override;
    std::string make_description(const CLI::App* app) const override;
    std::string make_footer(const CLI::App* app) const override;
    std::string make_usage(const CLI::App* app, std::string name) const override;
};

}  // namespace perfleet
