// Parts of the report that its formats share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "query-engine/statistic/answer.h"

namespace perfleet {

// The text with U+FFFD for each byte that isn't UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text_untrusted);

// "1,234,567".
[[nodiscard]] std::string grouped_digits(std::uint64_t value);

[[nodiscard]] std::string text_table(const Answer& answer);

}  // namespace perfleet
