// A program's options as data, for manual pages and completion.
//
// Hosts only. Made from the CLI::App that reads the arguments, so nothing is described twice.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace perfleet {

enum class ValueKind {
    kNone,  // a flag
    kText,
    kChoice,
    kFile,
    kFolder,
    kCommand,  // a program and its arguments
};

struct DescribedOption {
    std::vector<std::string> names;  // "-e", "--event"; for a positional argument its placeholder
    ValueKind kind = ValueKind::kNone;
    std::string placeholder;            // of its value, e.g. FILE
    std::vector<std::string> choices;   // kChoice
    std::string text;                   // names all choices
    std::string default_text;           // empty: none, or `text` says it
    std::vector<std::string> excludes;  // names of the options that exclude this one
    bool is_positional = false;
    bool is_required = false;
    bool is_repeated = false;  // or takes several values
};

struct DescribedCommand {
    std::vector<std::string> path;  // {"perfleet", "top"}
    std::string text;
    std::string footer;
    std::vector<DescribedOption> options;
    std::vector<DescribedCommand> commands;
};

// Leaves out hidden options and commands (those in an empty group).
[[nodiscard]] DescribedCommand describe_program(CLI::App& app);

// An option's help text: its description, and the choices of its values unless the description names all of them.
[[nodiscard]] std::string option_description(const CLI::Option& option);

// The first sentence of `text`, without the full stop.
[[nodiscard]] std::string first_sentence(const std::string& text);

// "perfleet-top"
[[nodiscard]] std::string joined_path(const DescribedCommand& command, const std::string& separator);

}  // namespace perfleet
