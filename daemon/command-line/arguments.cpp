#include "daemon/command-line/arguments.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

#include "daemon/command-line/completion.h"
#include "daemon/command-line/config_file.h"
#include "daemon/command-line/description.h"
#include "daemon/command-line/help_text.h"
#include "daemon/command-line/manual.h"
#include "schemas/host/suggestion.h"
#include "schemas/text/layout.h"

namespace perfleet {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

// CLI11 takes a word in brackets for a list, and splits it at its commas. While it parses, such words begin with this.
constexpr char kWordMark = '\x1f';

std::string marked_word(std::string word) {
    return word.starts_with('[') || word.starts_with(kWordMark) ? kWordMark + word : word;
}

std::string unmarked_word(std::string word) { return word.starts_with(kWordMark) ? word.substr(1) : word; }

void unmark_words(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        option->transform(unmarked_word);
    }
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        unmark_words(*command);
    }
}

// The innermost command that was chosen.
const CLI::App& chosen_command(const CLI::App& app) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return chosen.empty() ? app : chosen_command(*chosen.back());
}

// "perfleet top"
std::string name_of(const CLI::App& app) {
    return (app.get_parent() == nullptr ? "" : name_of(*app.get_parent()) + " ") + app.get_name();
}

std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

std::string describe_unknown(const CLI::App& app, const std::string& argument) {
    if (argument.size() > 1 && argument.front() == '-') {
        const std::string option = argument.substr(0, argument.find('='));
        const CLI::App& chosen = chosen_command(app);
        if (&chosen != &app && chosen.get_option_no_throw(option) != nullptr) {
            return "option '" + option + "' belongs after the command: " + name_of(chosen) + " " + argument;
        }
        if (app.get_parent() != nullptr && app.get_parent()->get_option_no_throw(option) != nullptr) {
            return "option '" + option + "' belongs before the command: " + name_of(*app.get_parent()) + " " +
                   argument + " " + app.get_name();
        }
        return argument == "--" ? "no command follows --"
                                : "unknown option '" + option + "'" + did_you_mean(option, option_names(app));
    }
    const std::vector<std::string> commands = command_names(app);
    return commands.empty() || &chosen_command(app) != &app
               ? "unexpected argument '" + argument + "'"
               : "unknown command '" + argument + "'" + did_you_mean(argument, commands);
}

// Describes the first unknown argument; empty if there is none.
std::string describe_extra(const CLI::App& app) {
    if (const std::vector<std::string> remaining = app.remaining(); !remaining.empty()) {
        return describe_unknown(app, unmarked_word(remaining.front()));
    }
    for (const CLI::App* command : app.get_subcommands()) {
        if (std::string text = describe_extra(*command); !text.empty()) {
            return text;
        }
    }
    return "";
}

int print_completion(CLI::App& app, std::string_view shell_name) {
    const std::optional<Shell> shell = shell_of_name(shell_name);
    if (!shell) {
        std::fprintf(stderr, "%s: --completion: bash, zsh or fish\n", app.get_name().c_str());
        return kExitUsage;
    }
    const std::string script = completion_script(describe_program(app), *shell);
    return std::fwrite(script.data(), 1, script.size(), stdout) == script.size() ? 0 : kExitFailure;
}

bool write_page(const DescribedCommand& command, ManualContext context, const std::string& prose_folder,
                const std::string& folder) {
    const std::string file = joined_path(command, "-") + "." + context.section;
    std::ostringstream prose;
    if (std::ifstream input{prose_folder + "/" + file + ".prose"}; input) {
        prose << input.rdbuf();
    }
    context.prose = prose.str();
    std::ofstream output{folder + "/" + file};
    output << manual_page(command, context) << std::flush;
    if (!output) {
        std::fprintf(stderr, "%s: can't write %s/%s\n", command.path.front().c_str(), folder.c_str(), file.c_str());
        return false;
    }
    for (const DescribedCommand& sub : command.commands) {
        if (!write_page(sub, context, prose_folder, folder)) {
            return false;
        }
    }
    return true;
}

void add_to_footers(CLI::App& app, const std::string& text) {
    app.footer(app.get_footer() + (app.get_footer().empty() ? "" : "\n\n") + text);
    for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
        add_to_footers(*command, text);
    }
}

int write_pages(CLI::App& app, const std::string& date, const std::string& prose_folder, const std::string& folder) {
    const bool is_daemon = command_names(app).empty();
    add_to_footers(app, is_daemon ? kExitStatusesOfDaemons : kExitStatuses);
    const DescribedCommand program = describe_program(app);
    const std::string section = is_daemon ? "8" : "1";
    const std::string version = app.version();
    return write_page(program, {section, version.substr(0, version.find(" (")), date, {}}, prose_folder, folder)
               ? 0
               : kExitFailure;
}

void set_formatter(CLI::App& app, const std::shared_ptr<HelpText>& formatter) {
    app.formatter(formatter);
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        set_formatter(*command, formatter);
    }
}

// In the command line's words: CLI11's messages name its own types.
std::string in_plain_words(const std::string& text) {
    struct Wording {
        const char* pattern;
        const char* plain;
    };
    constexpr std::array kWordings{
        Wording{"(.+): 1 required (.+) missing", "$1: a value is missing ($2)"},
        Wording{"(.+): Value (.*) not in range (.+) to (.+)", "$1: '$2' is no number from $3 to $4"},
        Wording{"(.+): (.*) not in \\{(.+)\\}", "$1: '$2' is none of $3"},
        Wording{"Could not convert: (.+) = (.*)", "$1: '$2' isn't a value of it"},
        Wording{"(.+): (File|Directory|Path) does not exist: (.*)", "$1: $3: No such file or directory"},
        Wording{"(-\\S+) excludes (-\\S+)", "$1 and $2 exclude each other"},
        Wording{"(-\\S+) requires (-\\S+)", "$1 needs $2, too"},
    };
    for (const Wording& wording : kWordings) {
        if (const std::regex pattern{wording.pattern}; std::regex_match(text, pattern)) {
            return std::regex_replace(text, pattern, wording.plain);
        }
    }
    return text;
}

}  // namespace

std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error) {
    // CLI11 reports a missing option first, although it may be there under an unknown name.
    const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                          error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
    const std::string extra = is_extra ? describe_extra(app) : "";
    return extra.empty() ? in_plain_words(error.what()) : extra;
}

std::optional<int> parse_arguments(CLI::App& app, int argument_count, const char* const* arguments) {
    const ConfigFiles config{app};
    const std::string_view first = argument_count > 1 ? arguments[1] : "";
    if (first == "--completion" && argument_count == 3) {
        return print_completion(app, arguments[2]);
    }
    if (first == "--manual-pages" && argument_count == 5) {
        return write_pages(app, arguments[2], arguments[3], arguments[4]);
    }
    set_formatter(app, std::make_shared<HelpText>());
    unmark_words(app);
    std::vector<std::string> words;  // the last one first
    for (int i = argument_count - 1; i > 0; --i) {
        words.push_back(marked_word(arguments[i]));
    }
    try {
        app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
            return app.exit(error);
        }
        const std::string name = name_of(chosen_command(app));
        winsize size{};
        const bool is_terminal = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
        const std::string text = name + ": " + describe_parse_error(app, error);
        std::fprintf(stderr, "%s\n", wrapped(text, is_terminal ? size.ws_col : text.size(), "  ").c_str());
        if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ConfigError)) {
            std::fprintf(stderr, "Run '%s --help' for its options.\n", name.c_str());
        }
        return kExitUsage;
    }
    return std::nullopt;
}

}  // namespace perfleet
