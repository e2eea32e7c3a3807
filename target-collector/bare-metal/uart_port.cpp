#include "target-collector/bare-metal/uart_port.h"

#include <array>

#include "target-collector/bare-metal/device_memory.h"
#include "target-collector/wire/zmtp_layout.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint64_t kData = 0x00;
constexpr std::uint64_t kFlags = 0x18;
constexpr std::uint64_t kLineControl = 0x2c;
constexpr std::uint64_t kControl = 0x30;
constexpr std::uint32_t kReceiveEmpty = 1U << 4;
constexpr std::uint32_t kTransmitFull = 1U << 5;
constexpr std::uint32_t kEightBitsAndFifos = 3U << 5 | 1U << 4;
constexpr std::uint32_t kErrors = 0xfU << 8;  // of the byte that was read: overrun, break, parity, framing
constexpr std::uint32_t kOnBothWays = 1U << 0 | 1U << 8 | 1U << 9;

}  // namespace

void UartPort::start() {
    const bool has_heard = (read_device(device_ + kFlags) & kReceiveEmpty) == 0;
    write_device(device_ + kLineControl, kEightBitsAndFifos);
    write_device(device_ + kControl, kOnBothWays);
    if (has_heard) {
        // Taken for a greeting, these bytes name an unknown mechanism: a ZMTP peer ends the connection.
        std::array<std::byte, zmtp_layout::kGreetingSizeBytes> refusal{};
        refusal.fill(std::byte{0xff});
        // A line that accepts no bytes (flow control, no cable) must not keep the target from its work.
        std::size_t written = 0;
        for (int i = 0; i < kRefusalAttemptsMax && written < refusal.size(); ++i) {
            written += write(std::span{refusal}.subspan(written));
        }
    }
}

std::size_t UartPort::write(std::span<const std::byte> bytes) {
    std::size_t written = 0;
    while (written < bytes.size() && (read_device(device_ + kFlags) & kTransmitFull) == 0) {
        write_device(device_ + kData, std::to_integer<std::uint32_t>(bytes[written++]));
    }
    return written;
}

std::size_t UartPort::read(std::span<std::byte> into) {
    std::size_t taken = 0;
    while (taken < into.size() && (read_device(device_ + kFlags) & kReceiveEmpty) == 0) {
        const std::uint32_t data = read_device(device_ + kData);
        if ((data & kErrors) != 0) {
            is_damaged_ = true;
            return taken;
        }
        into[taken++] = static_cast<std::byte>(data);
    }
    return taken;
}

}  // namespace perfleet::bare_metal
