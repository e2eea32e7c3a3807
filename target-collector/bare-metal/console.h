// Text on the board's PL011, for people and tests.
#pragma once

#include <cstdint>
#include <string_view>

namespace perfleet::bare_metal {

void print(std::string_view text);
void print_number(std::uint64_t number);  // decimal
void print_hex(std::uint64_t number);

}  // namespace perfleet::bare_metal
