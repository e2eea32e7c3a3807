#include "target-collector/sel4/root/x86_64/com_port.h"

#include <algorithm>
#include <array>

#include "target-collector/sel4/kernel/cycles.h"
#include "target-collector/wire/zmtp_layout.h"

namespace perfleet::sel4 {
namespace {

// Registers, from the base on.
constexpr std::uint16_t kData = 0;  // with kDivisorLatch: the divisor's low byte
constexpr std::uint16_t kInterrupts = 1;
constexpr std::uint16_t kFifoControl = 2;
constexpr std::uint16_t kLineControl = 3;
constexpr std::uint16_t kModemControl = 4;
constexpr std::uint16_t kLineStatus = 5;

constexpr std::uint8_t kEightBits = 3;
constexpr std::uint8_t kDivisorLatch = 0x80;
constexpr std::uint8_t kFifosOnAndEmpty = 7;
constexpr std::uint8_t kReady = 3;  // data terminal ready, request to send
constexpr std::uint8_t kHasData = 1U << 0;
constexpr std::uint8_t kErrors = 0xfU << 1;  // overrun, parity, framing, break
constexpr std::uint8_t kTransmitterEmpty = 1U << 5;
constexpr std::size_t kFifoSizeBytes = 16;

}  // namespace

ComPort::ComPort(Objects& objects, std::uint16_t base)
    : ports_{objects, base, static_cast<std::uint16_t>(base + 7)}, base_{base} {
    has_heard_ = (ports_.in(static_cast<std::uint16_t>(base_ + kLineStatus)) & kHasData) != 0;
    const auto set = [&](std::uint16_t name, std::uint8_t value) {
        ports_.out(static_cast<std::uint16_t>(base_ + name), value);
    };
    set(kInterrupts, 0);
    set(kLineControl, kDivisorLatch | kEightBits);
    set(kData, 1);
    set(kInterrupts, 0);  // the divisor's high byte
    set(kLineControl, kEightBits);
    set(kFifoControl, kFifosOnAndEmpty);
    set(kModemControl, kReady);
}

void ComPort::refuse_what_was_said() {
    if (has_heard_) {
        // Taken for a greeting, these bytes name an unknown mechanism: a ZMTP peer ends the connection.
        std::array<std::byte, zmtp_layout::kGreetingSizeBytes> refusal{};
        refusal.fill(std::byte{0xff});
        std::size_t written = 0;
        for (int i = 0; i < kRefusalAttemptsMax && written < refusal.size(); ++i) {
            written += write(std::span{refusal}.subspan(written));
        }
    }
}

std::size_t ComPort::write(std::span<const std::byte> bytes) {
    const std::uint64_t now = cycles().value;
    if (now - begun_ >= pace_cycles_) {
        begun_ = now;
        left_bytes_ = pace_bytes_;
    }
    const std::size_t size = std::min({bytes.size(), left_bytes_, kFifoSizeBytes});
    if (size == 0 || (ports_.in(static_cast<std::uint16_t>(base_ + kLineStatus)) & kTransmitterEmpty) == 0) {
        return 0;
    }
    for (const std::byte byte : bytes.first(size)) {
        ports_.out(static_cast<std::uint16_t>(base_ + kData), std::to_integer<std::uint8_t>(byte));
    }
    left_bytes_ -= size;
    return size;
}

std::size_t ComPort::read(std::span<std::byte> into) {
    const std::uint64_t now = cycles().value;
    if (now - empty_ < pace_cycles_ / 2) {
        return 0;
    }
    std::size_t taken = 0;
    while (taken < into.size()) {
        const std::uint8_t status = ports_.in(static_cast<std::uint16_t>(base_ + kLineStatus));
        if ((status & kHasData) == 0) {
            break;
        }
        const auto byte = static_cast<std::byte>(ports_.in(static_cast<std::uint16_t>(base_ + kData)));
        if ((status & kErrors) != 0) {
            is_damaged_ = true;
            return taken;
        }
        into[taken++] = byte;
    }
    empty_ = taken < into.size() ? now : 0;
    return taken;
}

}  // namespace perfleet::sel4
