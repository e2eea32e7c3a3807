#include "daemon/command-line/description.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace perfleet {
namespace {

// What CLI11 shows of the validators behind the type's name: of IsMember "{text,json}".
std::vector<std::string> validator_texts(CLI::Option& option) {
    std::vector<std::string> texts;
    try {
        for (int index = 0;; ++index) {
            texts.push_back(option.get_validator(index)->get_description());
        }
    } catch (const CLI::OptionNotFound&) {  // behind the last one
    }
    return texts;
}

std::vector<std::string> choices_of(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
        if (text.size() > 2 && text.front() == '{' && text.back() == '}') {
            return CLI::detail::split(text.substr(1, text.size() - 2), ',');
        }
    }
    return {};
}

// "FILE" of FILE, FILE:{a,b} and FILE=x.
std::string placeholder_of(const CLI::Option& option, const std::vector<std::string>& texts) {
    if (const std::string& shown = option.get_option_text(); !shown.empty()) {
        return shown.substr(0, shown.find_first_of("= "));
    }
    std::string name = option.get_type_name();
    for (const std::string& text : texts) {
        if (!text.empty()) {
            name.erase(name.size() - text.size() - 1);  // and the colon
        }
    }
    return name;
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

DescribedOption describe_option(CLI::Option& option) {
    DescribedOption described;
    const std::vector<std::string> texts = validator_texts(option);
    described.choices = choices_of(texts);
    described.placeholder = placeholder_of(option, texts);
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
    described.text = option.get_description();
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
