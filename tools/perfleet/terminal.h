// What text for people is laid out for.
#pragma once

#include <cstddef>

namespace perfleet {

inline constexpr std::size_t kTerminalColumns = 80;

}  // namespace perfleet
