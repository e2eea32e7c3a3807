// Text for people on QEMU's RISC-V `virt`: its 16550, which firmware and kernel print on, too.
#include "target-collector/bare-metal/console.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint64_t kUart = 0x1000'0000;
constexpr std::uint64_t kLineStatus = kUart + 5;
constexpr std::uint8_t kTransmitEmpty = 1U << 5;

}  // namespace

void print(std::string_view text) {
    for (const char c : text) {
        while ((*reinterpret_cast<volatile std::uint8_t*>(kLineStatus) & kTransmitEmpty) == 0) {
        }
        *reinterpret_cast<volatile std::uint8_t*>(kUart) = static_cast<std::uint8_t>(c);
    }
}

}  // namespace perfleet::bare_metal
