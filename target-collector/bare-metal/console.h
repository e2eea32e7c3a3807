// Prints text for users and tests: on the board's PL011 or, if that carries telemetry, by semihosting (Arm IHI 0068) or
// nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace perfleet::bare_metal {

enum class Console : std::uint8_t {
    kUart,
    kHost,  // semihosting, which QEMU needs enabled: -semihosting-config enable=on,target=native
    kNone,
};
void set_console(Console console);

void print(std::string_view text);
// Prints a literal, whose length is known.
template <std::size_t kSize>
[[gnu::always_inline]] inline void print(const char (&text)[kSize]) {
    print(std::string_view{text, kSize - 1});
}
void print_number(std::uint64_t number);  // decimal
void print_hex(std::uint64_t number);

}  // namespace perfleet::bare_metal
