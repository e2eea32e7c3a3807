// The layout that text is formatted for.
#pragma once

#include <cstddef>
#include <string_view>

namespace perfleet {

// The default is that of a file or a pipe: unlimited lines without colours.
struct Screen {
    static constexpr std::size_t kUnlimited = SIZE_MAX;
    std::size_t width_columns = kUnlimited;
    bool has_color = false;
    bool groups_digits = false;                  // 12,345: programs read files and pipes
    std::string_view way_to_see_all = "--wide";  // the option to mention if a table doesn't fit

    [[nodiscard]] bool is_limited() const { return width_columns != kUnlimited; }
};

}  // namespace perfleet
