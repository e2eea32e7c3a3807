// Lists of CPUs as the kernel writes them: "0-3,8".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace perfleet {

// Empty if the text isn't such a list.
[[nodiscard]] std::vector<std::uint32_t> parse_cpu_list(std::string_view text);

[[nodiscard]] std::vector<std::uint32_t> online_cpus();

}  // namespace perfleet
