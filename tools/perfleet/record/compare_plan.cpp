#include "tools/perfleet/record/compare_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "daemon/option/option.h"
#include "schemas/text/parse.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

using Texts = std::vector<std::string>;

struct Parameter {
    std::string name;
    Texts values;
};

// "1..8"; nothing for other texts.
std::optional<std::pair<std::int64_t, std::int64_t>> range_in(const std::string& text) {
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) {
        return std::nullopt;
    }
    const auto first = number_of<std::int64_t>(std::string_view{text}.substr(0, dots));
    const auto last = number_of<std::int64_t>(std::string_view{text}.substr(dots + 2));
    return first && last ? std::optional{std::pair{*first, *last}} : std::nullopt;
}

Result<std::vector<Parameter>> read_parameters(const Texts& texts) {
    std::vector<Parameter> parameters;
    bool is_name = true;
    for (const std::string& text : texts) {
        if (text.empty()) {
            is_name = true;  // CLI11 puts it between two uses of the option
        } else if (std::exchange(is_name, false)) {
            parameters.push_back({text, {}});
        } else {
            for (const std::string& value : split_list(text)) {
                const auto range = range_in(value);
                if (range &&
                    (range->second < range->first || range->second - range->first >= std::int64_t{kSidesMax})) {
                    return Error{ErrorCode::kUsage,
                                 fmt::format("--parameter {} {}: a range ascends, of at most {} values",
                                             parameters.back().name, value, kSidesMax)};
                }
                for (std::int64_t number = range ? range->first : 0; range && number <= range->second; ++number) {
                    parameters.back().values.push_back(std::to_string(number));
                }
                if (!range) {
                    parameters.back().values.push_back(value);
                }
            }
        }
    }
    for (const Parameter& parameter : parameters) {
        if (parameter.values.empty()) {
            return Error{ErrorCode::kUsage,
                         "--parameter " + parameter.name + ": name its values, too: --parameter size 1 2 4, or 1..8"};
        }
    }
    return parameters;
}

Result<std::vector<Texts>> commands_of(const ComparePlan& plan) {
    std::vector<Texts> commands(1);
    for (const std::string& word : plan.words) {
        if (word == kBetween) {
            commands.emplace_back();
        } else {
            commands.back().push_back(word);
        }
    }
    const auto is_quoted = [](const std::string& word) { return word.find(' ') != std::string::npos; };
    if (std::ranges::any_of(commands, &Texts::empty)) {
        return Error{ErrorCode::kUsage,
                     "a command is missing beside :::. Such as: perfleet compare -- ./old ::: ./new"};
    }
    if (plan.shell.empty() && is_quoted(commands[0][0])) {
        return Error{ErrorCode::kUsage, "'" + printable(commands[0][0]) +
                                            "' in quotes is no program: add --shell sh, or write its words alone and "
                                            "::: between two commands"};
    }
    if (!plan.shell.empty() && commands.size() == 1 && std::ranges::all_of(commands[0], is_quoted)) {
        const Texts quoted = commands[0];
        commands.clear();
        for (const std::string& word : quoted) {
            commands.push_back({word});
        }
    }
    return commands;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

std::string name_of_side(std::size_t index) {
    return index < 26 ? std::string(1, static_cast<char>('A' + index)) : std::to_string(index + 1);
}

}  // namespace

Result<std::vector<ComparedSide>> plan_sides(const ComparePlan& plan) {
    const auto commands = PERFLEET_TRY(commands_of(plan));
    const auto parameters = PERFLEET_TRY(read_parameters(plan.parameters));
    std::size_t count = commands.size();
    for (const Parameter& parameter : parameters) {
        count *= parameter.values.size();
        if (count > kSidesMax) {
            break;
        }
    }
    if (count > kSidesMax) {
        return Error{ErrorCode::kUsage,
                     fmt::format("--parameter: more than {} commands; name fewer values", kSidesMax)};
    }
    if (plan.prepare.size() > 1 && plan.prepare.size() != commands.size()) {
        return Error{ErrorCode::kUsage, fmt::format("--prepare: {} for {} commands; name one for all, or one for each",
                                                    plan.prepare.size(), commands.size())};
    }
    std::vector<ComparedSide> sides;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t command = i % commands.size();
        ComparedSide& side = sides.emplace_back();
        side.name = name_of_side(i);
        side.words = commands[command];
        if (!plan.prepare.empty()) {
            side.prepare = plan.prepare[plan.prepare.size() > 1 ? command : 0];
        }
        side.setup = plan.setup;
        side.cleanup = plan.cleanup;
        side.input = plan.input.empty() || plan.input == "null" ? side.input : plan.input;  // null: as hyperfine
        std::size_t rest = i / commands.size();
        for (const Parameter& parameter : parameters) {
            const std::string& value = parameter.values[rest % parameter.values.size()];
            rest /= parameter.values.size();
            side.parameters.emplace_back(parameter.name, value);
            const std::string place = "{" + parameter.name + "}";
            for (std::string& word : side.words) {
                replace_all(word, place, value);
            }
            for (std::string* text : {&side.prepare, &side.setup, &side.cleanup, &side.input}) {
                replace_all(*text, place, value);
            }
        }
        side.text = fmt::format("{}", fmt::join(side.words, " "));
        if (!plan.shell.empty()) {
            side.words = {plan.shell, "-c", side.text};
        }
    }
    return sides;
}

}  // namespace perfleet
