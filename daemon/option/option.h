// One description of each option of a query command. The command line, the wire form, help, man pages and completion
// are all made from it.
//
// Plain values; no threads. Errors: kUsage, which names the option.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

enum class OptionType : std::uint8_t {
    kFlag,    // bool, always true: an absent flag has no value
    kCount,   // std::uint64_t
    kSize,    // std::uint64_t, bytes; as text also with k, m or g
    kReal,    // double
    kText,    // std::string, not empty
    kChoice,  // std::string, one of `choices`
};

using OptionValue = std::variant<bool, std::uint64_t, double, std::string>;

// By the option's name, without dashes; sent in queries.
using OptionValues = std::map<std::string, OptionValue>;

struct OptionSpec {
    std::string name;  // without dashes
    OptionType type = OptionType::kText;
    std::string value_name;  // in help: "N", "TIME"; empty for flags
    std::string summary;
    std::vector<std::string> aliases{};  // other names; a single letter is used with a single dash
    std::vector<std::string> choices{};
    double min = 0;  // of kCount, kSize and kReal, both included
    double max = std::numeric_limits<double>::infinity();
    bool is_list = false;  // may be given several times; the values are joined with commas
};

// Parses `text`, from a command line, as the option's value.
[[nodiscard]] Result<OptionValue> parse_option(const OptionSpec& option, const std::string& text);

// Checks that a value from the wire is one that parse_option() can return.
[[nodiscard]] Result<Done> check_option_untrusted(const OptionSpec& option, const OptionValue& value_untrusted);

// "--limit: "x" is not `expected`".
[[nodiscard]] Error option_error(const std::string& name, const std::string& text, const std::string& expected);

// The parts between separators, empty ones too.
[[nodiscard]] std::vector<std::string> split_list(const std::string& text, char separator = ',');

// The option with this name or alias; null: none.
[[nodiscard]] const OptionSpec* find_option(std::span<const OptionSpec> options, std::string_view name);

// The options of one command, and the member of `Options` for each of their values.
template <class Options>
class OptionTable {
public:
    using Reader = std::function<Result<Done>(const OptionValue& value, Options& options)>;
    // Checks combinations of options. Called last, with all values.
    using Check = std::function<Result<Done>(const OptionValues& values, Options& options)>;

    OptionTable& flag(std::string name, bool Options::*member, std::string summary) {
        return add({std::move(name), OptionType::kFlag, "", std::move(summary)},
                   [member](const OptionValue&, Options& options) {
                       options.*member = true;
                       return Result<Done>{Done{}};
                   });
    }
    // The member is an integer, a double, a long double, a string, or optional, as `type` requires.
    template <class Member>
    OptionTable& value(OptionSpec spec, Member Options::*member) {
        return add(std::move(spec), [member](const OptionValue& value, Options& options) {
            assign(value, options.*member);
            return Result<Done>{Done{}};
        });
    }
    template <class Member>
    OptionTable& count(std::string name, std::string value_name, std::string summary, Member Options::*member,
                       double min = 0, double max = std::numeric_limits<double>::infinity()) {
        return value({.name = std::move(name),
                      .type = OptionType::kCount,
                      .value_name = std::move(value_name),
                      .summary = std::move(summary),
                      .min = min,
                      .max = max},
                     member);
    }
    template <class Enum>
    OptionTable& choice(OptionSpec spec, Enum Options::*member, std::vector<std::pair<std::string, Enum>> choices) {
        spec.type = OptionType::kChoice;
        for (const auto& [name, meaning] : choices) {
            spec.choices.push_back(name);
        }
        return add(std::move(spec),
                   [member, meanings = std::move(choices)](const OptionValue& value, Options& options) {
                       for (const auto& [name, meaning] : meanings) {
                           if (name == std::get<std::string>(value)) {
                               options.*member = meaning;
                           }
                       }
                       return Result<Done>{Done{}};
                   });
    }
    // An option whose text has its own grammar: `read` parses it.
    OptionTable& text(OptionSpec spec, std::function<Result<Done>(const std::string& text_untrusted, Options&)> read) {
        return add(std::move(spec), [read = std::move(read)](const OptionValue& value, Options& options) {
            return read(std::get<std::string>(value), options);
        });
    }
    // One that may be given several times.
    OptionTable& list(std::string name, std::string value_name, std::string summary,
                      std::function<Result<Done>(const std::string& text_untrusted, Options&)> read,
                      std::vector<std::string> aliases = {}) {
        return text({.name = std::move(name),
                     .value_name = std::move(value_name),
                     .summary = std::move(summary),
                     .aliases = std::move(aliases),
                     .is_list = true},
                    std::move(read));
    }
    OptionTable& add(OptionSpec spec, Reader reader) {
        specs_.push_back(std::move(spec));
        readers_.push_back(std::move(reader));
        return *this;
    }
    OptionTable& finish(Check check) {
        check_ = std::move(check);
        return *this;
    }

    [[nodiscard]] const std::vector<OptionSpec>& specs() const { return specs_; }

    // Reads the values of this table's options, in the table's order, and ignores other values.
    [[nodiscard]] Result<Options> read(const OptionValues& values_untrusted, Options options = {}) const {
        for (std::size_t i = 0; i < specs_.size(); ++i) {
            const auto value = values_untrusted.find(specs_[i].name);
            if (value == values_untrusted.end()) {
                continue;
            }
            PERFLEET_TRY(check_option_untrusted(specs_[i], value->second));
            PERFLEET_TRY(readers_[i](value->second, options));
        }
        if (check_) {
            PERFLEET_TRY(check_(values_untrusted, options));
        }
        return options;
    }
    // Whether read() would accept the values.
    [[nodiscard]] Result<Done> check(const OptionValues& values_untrusted) const {
        const Result<Options> options = read(values_untrusted);
        return options.ok() ? Result<Done>{Done{}} : Error{options.error()};
    }

private:
    template <class Number>
    static Number held(const Number&);
    template <class Number>
    static Number held(const std::optional<Number>&);

    template <class Member>
    static void assign(const OptionValue& value, Member& member) {
        if constexpr (std::is_same_v<Member, std::string> || std::is_same_v<Member, std::optional<std::string>>) {
            member = std::get<std::string>(value);
        } else {
            using Number = decltype(held(member));
            const auto* const real = std::get_if<double>(&value);
            member = real != nullptr ? static_cast<Number>(*real) : static_cast<Number>(std::get<std::uint64_t>(value));
        }
    }

    std::vector<OptionSpec> specs_;
    std::vector<Reader> readers_;
    Check check_;
};

struct NoOptions {};

[[nodiscard]] const OptionTable<NoOptions>& no_options();

}  // namespace perfleet
