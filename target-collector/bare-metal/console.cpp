#include "target-collector/bare-metal/console.h"

#include "target-collector/bare-metal/registers.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint64_t kUart = 0x0900'0000;
constexpr std::uint64_t kFlags = kUart + 0x18;
constexpr std::uint32_t kTransmitFull = 1U << 5;

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

void print(std::string_view text) {
    for (const char c : text) {
        while ((read_device(kFlags) & kTransmitFull) != 0) {
        }
        write_device(kUart, static_cast<std::uint8_t>(c));
    }
}

void print_number(std::uint64_t number) { print_in_base(number, 10); }
void print_hex(std::uint64_t number) { print_in_base(number, 16); }

}  // namespace perfleet::bare_metal
