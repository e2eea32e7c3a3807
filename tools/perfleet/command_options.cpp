#include "tools/perfleet/command_options.h"

#include <utility>
#include <vector>

#include "schemas/vocabulary/option_value.h"

namespace perfleet {
namespace {

std::string names_of(const OptionSpec& option) {
    std::string names = "--" + option.name;
    for (const std::string& alias : option.aliases) {
        names += (alias.size() == 1 ? ",-" : ",--") + alias;
    }
    return names;
}

// As CLI11 reports the value of an option: it puts the name before.
std::string without_name(const OptionSpec& option, const std::string& message) {
    const std::string prefix = "--" + option.name + ": ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

}  // namespace

void add_command_options(CLI::App& command, std::span<const OptionSpec> options, OptionValues& values,
                         const std::string& group) {
    for (const OptionSpec& option : options) {
        if (option.type == OptionType::kFlag) {
            command
                .add_flag_callback(
                    names_of(option), [&values, name = option.name] { values[name] = true; }, option.summary)
                ->group(group);
            continue;
        }
        CLI::Option* const added =
            command
                .add_option_function<std::vector<std::string>>(
                    names_of(option),
                    [&values, option](const std::vector<std::string>& texts) {
                        std::string joined;
                        for (const std::string& text : texts) {
                            // Empty ones stay to be refused.
                            joined += (joined.empty() ? "" : ",") + text;
                        }
                        Result<OptionValue> value = parse_option(option, joined);
                        if (!value.ok()) {
                            throw CLI::ValidationError("--" + option.name, without_name(option, value.error().message));
                        }
                        values.insert_or_assign(option.name, std::move(value).value());
                    },
                    option.summary)
                ->type_name(option.value_name)
                ->expected(1)
                ->allow_extra_args(false)  // or [vdso] would be a list of one
                ->multi_option_policy(option.is_list ? CLI::MultiOptionPolicy::TakeAll : CLI::MultiOptionPolicy::Throw)
                ->group(group);
        if (!option.choices.empty()) {
            added->check(CLI::IsMember(option.choices));
        }
    }
}

CLI::Option* add_data_option(CLI::App& command, std::string& folder) {
    return command.add_option("--data", folder, "data folder (default: where `perfleet record` writes)")
        ->check(check_not_empty)
        ->type_name("DIR");
}

CLI::Option* add_force_flag(CLI::App& command, bool& is_forced, const std::string& details) {
    return command.add_flag("--force", is_forced, "replace the file of --output if it exists" + details);
}

CLI::Option* add_fail_undecided_flag(CLI::App& command, bool& fails_undecided) {
    return command.add_flag("--fail-undecided", fails_undecided,
                            "exit with 1 also when the data can't tell whether it holds");
}

}  // namespace perfleet
