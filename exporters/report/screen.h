// What text for people is laid out for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet {

// As it stands for a file or a pipe: lines as long as they need to be, without colours.
struct Screen {
    static constexpr std::size_t kUnlimited = SIZE_MAX;
    std::size_t width_columns = kUnlimited;
    bool has_color = false;

    [[nodiscard]] bool is_limited() const { return width_columns != kUnlimited; }
};

}  // namespace perfleet
