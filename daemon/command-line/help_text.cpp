#include "daemon/command-line/help_text.h"

#include <algorithm>
#include <sstream>

#include "daemon/command-line/description.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

// Successive lines without indentation form one paragraph; indented lines stay separate, and their continuation lines
// have the same indentation.
std::string wrapped_paragraphs(const std::string& text) {
    std::string result;
    std::string paragraph;
    const auto end_paragraph = [&] {
        result += paragraph.empty() ? "" : wrapped(paragraph, kHelpColumns) + "\n";
        paragraph.clear();
    };
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t indentation = std::min(line.find_first_not_of(' '), line.size());
        if (indentation == 0 && !line.empty()) {
            paragraph += (paragraph.empty() ? "" : " ") + line;
            continue;
        }
        end_paragraph();
        result += wrapped(line, kHelpColumns, line.substr(0, indentation)) + "\n";
    }
    end_paragraph();
    return result;
}

// The type's name in "N:INT in [0 - 64]"; the choices in "TEXT:{a,b}".
std::string type_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t colon = type.find(':');
    const bool is_choice = type.starts_with("TEXT:{");
    return is_choice ? type.substr(colon + 1) : type.substr(0, colon);
}

}  // namespace

std::string HelpText::make_option_opts(const CLI::Option* option) const {
    std::string text;
    if (option->get_type_size() != 0) {
        const std::string type = type_of(*option);
        text += type.empty() ? "" : " " + type;
        text += option->get_default_str().empty() ? "" : "=" + option->get_default_str();
        text += option->get_expected_max() == CLI::detail::expected_max_vector_size ? " ..." : "";
        text += option->get_required() ? " (required)" : "";
    }
    return text;
}

// CLI11 adds what a flag without a value stands for: "--no-keep-symbols{false}".
std::string HelpText::make_option_name(const CLI::Option* option, bool is_positional) const {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    for (std::size_t at = name.find('{'); at != std::string::npos; at = name.find('{')) {
        name.erase(at, name.find('}', at) + 1 - at);
    }
    return name;
}

std::string HelpText::make_option_desc(const CLI::Option* option) const {
    return wrapped(option_description(*option), kHelpColumns - get_column_width());
}

std::string HelpText::make_subcommand(const CLI::App* command) const {
    std::ostringstream text;
    CLI::detail::format_help(text, command->get_display_name(true),
                             wrapped(command->get_description(), kHelpColumns - get_column_width()),
                             get_column_width());
    return text.str();
}

std::string HelpText::make_description(const CLI::App* app) const { return wrapped_paragraphs(app->get_description()); }

std::string HelpText::make_footer(const CLI::App* app) const { return wrapped_paragraphs(app->get_footer()); }

std::string HelpText::make_usage(const CLI::App* app, std::string name) const {
    return wrapped(CLI::Formatter::make_usage(app, std::move(name)), kHelpColumns, "    ");
}

}  // namespace perfleet
