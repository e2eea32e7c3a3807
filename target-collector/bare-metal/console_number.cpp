// Prints numbers on any console.
#include "target-collector/bare-metal/console.h"

namespace perfleet::bare_metal {
namespace {

void print_in_base(std::uint64_t number, std::uint64_t base) {
    char digits[24];
    std::size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number != 0);
    print({digits + at, sizeof digits - at});
}

}  // namespace

void print_number(std::uint64_t number) { print_in_base(number, 10); }
void print_hex(std::uint64_t number) { print_in_base(number, 16); }

}  // namespace perfleet::bare_metal
