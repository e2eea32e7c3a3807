// Files that tests compare with: everything below tests/golden.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

// The path of tests/golden/NAME.
[[nodiscard]] std::string golden_path(std::string_view name);

// Its content; throws std::runtime_error with the path when it can't be read.
[[nodiscard]] std::string golden_file(std::string_view name);

}  // namespace perfleet
