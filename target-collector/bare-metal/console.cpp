#include "target-collector/bare-metal/console.h"

#include "target-collector/bare-metal/registers.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint64_t kUart = 0x0900'0000;
constexpr std::uint64_t kFlags = kUart + 0x18;
constexpr std::uint32_t kTransmitFull = 1U << 5;

Console console = Console::kUart;

void write_to_host(char c) {
    constexpr std::uint64_t kWriteCharacter = 3;
    register std::uint64_t operation asm("x0") = kWriteCharacter;
    register const char* parameter asm("x1") = &c;
    asm volatile("hlt #0xf000" : "+r"(operation) : "r"(parameter) : "memory");
}

}  // namespace

void set_console(Console to) { console = to; }

void print(std::string_view text) {
    for (const char c : text) {
        if (console == Console::kUart) {
            while ((read_device(kFlags) & kTransmitFull) != 0) {
            }
            write_device(kUart, static_cast<std::uint8_t>(c));
        } else if (console == Console::kHost) {
            write_to_host(c);
        }
    }
}

}  // namespace perfleet::bare_metal
