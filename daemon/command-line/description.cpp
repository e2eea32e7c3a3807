#include "daemon/command-line/description.h"

#include <algorithm>
#include <cstddef>

namespace perfleet {
namespace {

// The choices in a type's name "KIND:{text,json}"; the validator IsMember adds the part in braces.
std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t start = type.find(":{");
    return start == std::string::npos ? std::vector<std::string>{}
                                      : CLI::detail::split(type.substr(start + 2, type.find('}') - start - 2), ',');
}

// "FILE" for FILE, FILE:{a,b} and FILE=x.
std::string placeholder_of(const CLI::Option& option) {
    if (const std::string& shown = option.get_option_text(); !shown.empty()) {
        return shown.substr(0, shown.find_first_of("= "));
    }
    const std::string type = option.get_type_name();
    return type.substr(0, type.find(':'));
}

ValueKind kind_of(const CLI::Option& option, const DescribedOption& described) {
    if (option.get_items_expected_max() == 0) {
        return ValueKind::kNone;
    }
    if (!described.choices.empty()) {
        return ValueKind::kChoice;
    }
    return described.placeholder == "FILE"      ? ValueKind::kFile
           : described.placeholder == "DIR"     ? ValueKind::kFolder
           : described.placeholder == "COMMAND" ? ValueKind::kCommand
                                                : ValueKind::kText;
}

DescribedOption describe_option(const CLI::Option& option) {
    DescribedOption described;
    described.choices = choices_of(option);
    described.placeholder = placeholder_of(option);
    described.kind = kind_of(option, described);
    described.is_positional = option.get_positional();
    for (const std::string& name : option.get_snames()) {
        described.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        described.names.push_back("--" + name);
    }
    if (described.is_positional) {
        described.names.push_back(option.get_single_name());
    }
    described.text = option_description(option);
    if (described.kind != ValueKind::kNone) {
        described.default_text = option.get_default_str();
    }
    for (const CLI::Option* excluded : option.get_excludes()) {
        described.excludes.push_back(excluded->get_name());
    }
    std::sort(described.excludes.begin(), described.excludes.end());
    described.is_required = option.get_required();
    described.is_repeated = option.get_items_expected_max() > 1;
    return described;
}

DescribedCommand describe_command(CLI::App& app, std::vector<std::string> path) {
    path.push_back(app.get_name());
    DescribedCommand command{path, app.get_description(), app.get_footer(), {}, {}};
    for (CLI::Option* option : app.get_options()) {
        if (!option->get_group().empty()) {
            command.options.push_back(describe_option(*option));
        }
    }
    for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (!sub->get_group().empty()) {
            command.commands.push_back(describe_command(*sub, path));
        }
    }
    return command;
}

}  // namespace

DescribedCommand describe_program(CLI::App& app) { return describe_command(app, {}); }

std::string option_description(const CLI::Option& option) {
    const std::string description = option.get_description();
    const std::vector<std::string> choices = choices_of(option);
    const bool are_named = std::all_of(choices.begin(), choices.end(), [&description](const std::string& choice) {
        return description.find(choice) != std::string::npos;
    });
    return are_named ? description : description + "; one of " + CLI::detail::join(choices, ", ");
}

std::string first_sentence(const std::string& text) {
    std::string sentence = text.substr(0, text.find(". "));
    if (!sentence.empty() && sentence.back() == '.') {
        sentence.pop_back();
    }
    return sentence;
}

std::string joined_path(const DescribedCommand& command, const std::string& separator) {
    return CLI::detail::join(command.path, separator);
}

}  // namespace perfleet
