#include "daemon/option/option.h"

#include <algorithm>
#include <cmath>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::size_t kShownSizeBytesMax = 64;

std::string number_text(double number) {
    return number == std::floor(number) && std::abs(number) < 0x1p63 ? std::to_string(static_cast<std::int64_t>(number))
                                                                     : std::to_string(number);
}

// Describes the allowed numbers.
std::string bounds(const OptionSpec& option) {
    const std::string kind = option.type == OptionType::kReal   ? "a number"
                             : option.type == OptionType::kSize ? "a size in bytes, or with k, m or g,"
                                                                : "a whole number";
    if (std::isinf(option.max)) {
        return option.min <= 0 ? kind : kind + " of at least " + number_text(option.min);
    }
    return kind + " from " + number_text(option.min) + " to " + number_text(option.max);
}

std::string list_of(const std::vector<std::string>& choices) {
    std::string list;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        list += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
    }
    return list;
}

bool is_within(const OptionSpec& option, double number) { return number >= option.min && number <= option.max; }

std::optional<std::uint64_t> parse_size(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    });
    if (text.size() > 1 && text.back() == 'b') {
        text.pop_back();
    }
    constexpr std::string_view kPrefixes = "kmgt";
    const std::size_t prefix = text.empty() ? std::string_view::npos : kPrefixes.find(text.back());
    if (prefix != std::string_view::npos) {
        text.pop_back();
    }
    const unsigned shift = prefix == std::string_view::npos ? 0 : 10 * (static_cast<unsigned>(prefix) + 1);
    const auto number = number_of<std::uint64_t>(text);
    return number && (*number << shift >> shift) == *number ? std::optional{*number << shift} : std::nullopt;
}

std::size_t index_of(OptionType type) {
    switch (type) {
        case OptionType::kFlag: return 0;
        case OptionType::kCount:
        case OptionType::kSize: return 1;
        case OptionType::kReal: return 2;
        case OptionType::kText:
        case OptionType::kChoice: break;
    }
    return 3;
}

}  // namespace

Result<OptionValue> parse_option(const OptionSpec& option, const std::string& text) {
    switch (option.type) {
        case OptionType::kFlag: return OptionValue{true};
        case OptionType::kCount:
        case OptionType::kSize: {
            const auto number = option.type == OptionType::kSize ? parse_size(text) : number_of<std::uint64_t>(text);
            if (!number || !is_within(option, static_cast<double>(*number))) {
                return option_error(option.name, text, bounds(option));
            }
            return OptionValue{*number};
        }
        case OptionType::kReal: {
            const auto number = number_of<double>(text);
            if (!number || !is_within(option, *number)) {
                return option_error(option.name, text, bounds(option));
            }
            return OptionValue{*number};
        }
        case OptionType::kText:
        case OptionType::kChoice: break;
    }
    OptionValue value{text};
    PERFLEET_TRY(check_option_untrusted(option, value));
    return value;
}

Result<Done> check_option_untrusted(const OptionSpec& option, const OptionValue& value) {
    if (value.index() != index_of(option.type)) {
        return Error{ErrorCode::kUsage, "--" + option.name + ": a value of another type than the option's"};
    }
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        return is_within(option, static_cast<double>(*number))
                   ? Result<Done>{Done{}}
                   : option_error(option.name, std::to_string(*number), bounds(option));
    }
    if (const auto* real = std::get_if<double>(&value)) {
        return is_within(option, *real) ? Result<Done>{Done{}}
                                        : option_error(option.name, std::to_string(*real), bounds(option));
    }
    if (const auto* flag = std::get_if<bool>(&value)) {
        return *flag ? Result<Done>{Done{}} : Error{ErrorCode::kUsage, "--" + option.name + ": a flag is given or not"};
    }
    const std::string& text = std::get<std::string>(value);
    if (option.type == OptionType::kChoice) {
        return std::find(option.choices.begin(), option.choices.end(), text) != option.choices.end()
                   ? Result<Done>{Done{}}
                   : option_error(option.name, text, list_of(option.choices));
    }
    if (text.empty()) {
        return Error{ErrorCode::kUsage,
                     "--" + option.name + ": is empty (a variable that isn't set?); leave it out, or give it a value"};
    }
    return Done{};
}

Error option_error(const std::string& name, const std::string& text, const std::string& expected) {
    return {ErrorCode::kUsage, "--" + name + ": \"" + text.substr(0, kShownSizeBytesMax) + "\" is not " + expected};
}

std::vector<std::string> split_list(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(separator, start), text.size());
        parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

const OptionSpec* find_option(std::span<const OptionSpec> options, std::string_view name) {
    const auto found = std::find_if(options.begin(), options.end(), [&](const OptionSpec& option) {
        return option.name == name ||
               std::find(option.aliases.begin(), option.aliases.end(), name) != option.aliases.end();
    });
    return found == options.end() ? nullptr : &*found;
}

const OptionTable<NoOptions>& no_options() {
    static const OptionTable<NoOptions> kTable;
    return kTable;
}

}  // namespace perfleet
