#include "daemon/command-line/completion.h"

#include <cstddef>
#include <vector>

namespace perfleet {
namespace {

// "_perfleet_top"; for a program also the name of zsh's file.
std::string function_of(const DescribedCommand& command) { return "_" + joined_path(command, "_"); }

std::string with_escapes(std::string_view text, std::string_view escaped) {
    std::string result;
    for (const char character : text) {
        if (escaped.find(character) != std::string_view::npos) {
            result += '\\';
        }
        result += character;
    }
    return result;
}

// Single-quoted for bash and zsh.
std::string shell_quoted(std::string_view text) {
    std::string word = "'";
    for (const char character : text) {
        word += character == '\'' ? std::string{"'\\''"} : std::string{character};
    }
    return word + "'";
}

std::string fish_quoted(std::string_view text) { return "'" + with_escapes(text, "\\'") + "'"; }

std::string words_of(const std::vector<std::string>& words) { return CLI::detail::join(words, " "); }

std::vector<std::string> names_of(const std::vector<DescribedCommand>& commands) {
    std::vector<std::string> names;
    for (const DescribedCommand& command : commands) {
        names.push_back(command.path.back());
    }
    return names;
}

// --- bash ---

// "" or "top" or "sessions rm": the path without the program.
std::string bash_key(const DescribedCommand& command) {
    return CLI::detail::join(std::vector<std::string>(command.path.begin() + 1, command.path.end()), " ");
}

std::string bash_values(const DescribedOption& option) {
    switch (option.kind) {
        case ValueKind::kChoice:
            return "mapfile -t COMPREPLY < <(compgen -W " + shell_quoted(words_of(option.choices)) + " -- \"$cur\")";
        case ValueKind::kFile: return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
        case ValueKind::kFolder: return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
        case ValueKind::kCommand: return "mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")";
        case ValueKind::kNone:
        case ValueKind::kText: break;
    }
    return ":";
}

// Cases for all commands: the words that choose them, the values of their options, and their words.
struct BashCases {
    std::string choose;
    std::string values;
    std::string words;
};

void add_bash_cases(const DescribedCommand& command, BashCases& cases) {
    const std::string key = bash_key(command);
    std::vector<std::string> options;
    std::string positional = ":";
    for (const DescribedOption& option : command.options) {
        if (option.is_positional) {
            positional = bash_values(option);
            continue;
        }
        options.insert(options.end(), option.names.begin(), option.names.end());
        if (option.kind != ValueKind::kNone) {
            std::string pattern;
            for (const std::string& name : option.names) {
                pattern += (pattern.empty() ? "" : " | ") + shell_quoted(key + " " + name);
            }
            cases.values += "        " + pattern + ") " + bash_values(option) + "; return ;;\n";
        }
    }
    if (!command.commands.empty()) {
        positional = "mapfile -t COMPREPLY < <(compgen -W " + shell_quoted(words_of(names_of(command.commands))) +
                     " -- \"$cur\")";
    }
    cases.words += "        " + shell_quoted(key) + ")\n            if [[ $cur == -* ]]; then\n" +
                   "                mapfile -t COMPREPLY < <(compgen -W " + shell_quoted(words_of(options)) +
                   " -- \"$cur\")\n            else\n                " + positional +
                   "\n            fi\n            ;;\n";
    for (const DescribedCommand& sub : command.commands) {
        cases.choose += "            " + shell_quoted(key + " " + sub.path.back()) +
                        ") command=" + shell_quoted(bash_key(sub)) + " ;;\n";
        add_bash_cases(sub, cases);
    }
}

std::string bash_script(const DescribedCommand& program) {
    BashCases cases;
    add_bash_cases(program, cases);
    const std::string function = function_of(program);
    std::string choose =
        cases.choose.empty() ? "" : "        case \"$command $word\" in\n" + cases.choose + "        esac\n";
    return "# bash completion for " + program.path.front() + "\n" + function + R"(() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' word i
    COMPREPLY=()
    if [[ $cur == = ]]; then
        cur=''
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
        if [[ $word == -- ]]; then
            if ((i + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                compopt -o filenames
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            return
        fi
)" + choose +
           "    done\n    case \"$command $prev\" in\n" + cases.values + "    esac\n    case $command in\n" +
           cases.words + "    esac\n}\ncomplete -F " + function + " " + program.path.front() + "\n";
}

// --- zsh ---

std::string zsh_values(const DescribedOption& option) {
    switch (option.kind) {
        case ValueKind::kChoice: return "(" + words_of(option.choices) + ")";
        case ValueKind::kFile: return "_files";
        case ValueKind::kFolder: return "_files -/";
        case ValueKind::kCommand: return " _command_names -e";
        case ValueKind::kNone:
        case ValueKind::kText: break;
    }
    return " ";  // shows the placeholder and completes nothing
}

std::string zsh_option(const DescribedOption& option) {
    const std::string value = with_escapes(option.placeholder, ":\\") + ":" + zsh_values(option);
    if (option.kind == ValueKind::kCommand) {
        return shell_quoted("(-)1:" + value) + " " + shell_quoted("*::ARGUMENT: _normal");
    }
    if (option.is_positional) {
        return shell_quoted((option.is_repeated ? "*::" : ":") + value);
    }
    const bool is_flag = option.kind == ValueKind::kNone;
    std::string names;
    for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        names += (names.empty() ? "" : ",") + name + (is_flag ? "" : is_long ? "=" : "+");
    }
    const bool has_several = option.names.size() > 1;
    const std::string before = option.is_repeated ? "*" : has_several ? "(" + words_of(option.names) + ")" : "";
    const std::string text =
        "[" + with_escapes(first_sentence(option.text), "[]\\") + "]" + (is_flag ? "" : ":" + value);
    return has_several ? shell_quoted(before) + "{" + names + "}" + shell_quoted(text)
                       : shell_quoted(before + names + text);
}

void add_zsh_functions(const DescribedCommand& command, std::string& text) {
    std::string specifications;
    for (const DescribedOption& option : command.options) {
        specifications += " \\\n        " + zsh_option(option);
    }
    if (command.commands.empty()) {
        text += function_of(command) + "() {\n    _arguments -S" + specifications + "\n}\n";
        return;
    }
    std::string list;
    std::string cases;
    for (const DescribedCommand& sub : command.commands) {
        const std::string& name = sub.path.back();
        list += "        " + shell_quoted(with_escapes(name, ":") + ":" + first_sentence(sub.text)) + "\n";
        cases += "                " + name + ") " + function_of(sub) + " ;;\n";
        add_zsh_functions(sub, text);
    }
    text += function_of(command) + "() {\n    local context curcontext=$curcontext state state_descr line\n" +
            "    typeset -A opt_args\n    local -a subcommands=(\n" + list + "    )\n    _arguments -C -S" +
            specifications + " \\\n        '1: :->command' \\\n        '*:: :->arguments' && return\n" +
            R"(    case $state in
        command) _describe -t commands 'command' subcommands ;;
        arguments)
            curcontext="${curcontext%:*:*}:$words[1]:"
            case $words[1] in
)" + cases + "            esac\n            ;;\n    esac\n}\n";
}

std::string zsh_script(const DescribedCommand& program) {
    const std::string function = function_of(program);
    std::string text = "#compdef " + program.path.front() + "\n";
    add_zsh_functions(program, text);
    return text + "if [[ $funcstack[1] == " + function + " ]]; then\n    " + function + " \"$@\"\nelse\n    compdef " +
           function + " " + program.path.front() + "\nfi\n";
}

// --- fish ---

std::string fish_values(const DescribedOption& option) {
    switch (option.kind) {
        case ValueKind::kNone: return "";
        case ValueKind::kChoice: return " -x -a " + fish_quoted(words_of(option.choices));
        case ValueKind::kFile: return " -r -F";
        case ValueKind::kFolder: return " -x -a '(__fish_complete_directories)'";
        case ValueKind::kCommand: return " -x -a '(__fish_complete_command)'";
        case ValueKind::kText: break;
    }
    return " -x";
}

void add_fish_lines(const DescribedCommand& command, std::string& text) {
    std::string condition;
    for (std::size_t depth = 1; depth < command.path.size(); ++depth) {
        condition += (depth == 1 ? "" : "; and ") + ("__fish_seen_subcommand_from " + command.path[depth]);
    }
    const std::string line = "complete -c " + command.path.front();
    if (!command.commands.empty()) {
        const std::string names = words_of(names_of(command.commands));
        const std::string unless =
            condition + (condition.empty() ? "" : "; and ") + "not __fish_seen_subcommand_from " + names;
        for (const DescribedCommand& sub : command.commands) {
            text += line + " -n " + fish_quoted(unless) + " -a " + sub.path.back() + " -d " +
                    fish_quoted(first_sentence(sub.text)) + "\n";
        }
        condition = condition.empty() ? unless : condition;
    }
    const std::string when = condition.empty() ? "" : " -n " + fish_quoted(condition);
    for (const DescribedOption& option : command.options) {
        if (option.is_positional) {
            if (option.kind != ValueKind::kText) {
                text += line + when + fish_values(option) + "\n";
            }
            continue;
        }
        std::string names;
        for (const std::string& name : option.names) {
            names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        }
        text += line + when + names + fish_values(option) + " -d " + fish_quoted(first_sentence(option.text)) + "\n";
    }
    for (const DescribedCommand& sub : command.commands) {
        add_fish_lines(sub, text);
    }
}

std::string fish_script(const DescribedCommand& program) {
    std::string text =
        "# fish completion for " + program.path.front() + "\ncomplete -c " + program.path.front() + " -f\n";
    add_fish_lines(program, text);
    return text;
}

}  // namespace

std::optional<Shell> shell_of_name(std::string_view name) {
    return name == "bash"   ? std::optional{Shell::kBash}
           : name == "zsh"  ? std::optional{Shell::kZsh}
           : name == "fish" ? std::optional{Shell::kFish}
                            : std::nullopt;
}

std::string completion_script(const DescribedCommand& program, Shell shell) {
    switch (shell) {
        case Shell::kBash: return bash_script(program);
        case Shell::kZsh: return zsh_script(program);
        case Shell::kFish: return fish_script(program);
    }
    return "";
}

}  // namespace perfleet
