// Values of options from texts, as a command line has them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "daemon/option/option.h"

namespace perfleet {

// Errors: those of parse_option(); names that no option has.
[[nodiscard]] inline Result<OptionValues> parse_options(std::span<const OptionSpec> options,
                                                        const std::map<std::string, std::string>& texts) {
    OptionValues values;
    for (const auto& [name, text] : texts) {
        const OptionSpec* const option = find_option(options, name);
        if (option == nullptr) {
            return Error{ErrorCode::kUsage, "there is no option --" + name};
        }
        auto value = PERFLEET_TRY(parse_option(*option, text));
        values.insert_or_assign(option->name, std::move(value));
    }
    return values;
}

}  // namespace perfleet
