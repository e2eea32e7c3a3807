// Errors about one event of -e: "-e EVENT: WHY".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

[[nodiscard]] inline Error event_error(std::string_view event, const std::string& why,
                                       ErrorCode code = ErrorCode::kUsage) {
    constexpr std::size_t kShownSizeMax = 256;
    return {code, "-e " + std::string(event.substr(0, kShownSizeMax)) + ": " + why};
}

// "'a', 'b' and 'c'"
[[nodiscard]] inline std::string quoted_list(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += (i == 0 ? "'" : i + 1 == names.size() ? " and '" : ", '") + names[i] + "'";
    }
    return text;
}

}  // namespace perfleet
