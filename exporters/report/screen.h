// What text for people is laid out for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perfleet {

// As it stands for a file or a pipe: lines as long as they need to be, without colours.
struct Screen {
    static constexpr std::size_t kUnlimited = SIZE_MAX;
    std::size_t width_columns = kUnlimited;
    bool has_color = false;
    std::string_view way_to_see_all = "--wide";  // where a table doesn't fit

    [[nodiscard]] bool is_limited() const { return width_columns != kUnlimited; }
};

}  // namespace perfleet
