// A 16550 as a telemetry line (registers a byte apart), polled. Its speed stays as set by the firmware; nothing else
// may print on it.
//
// One thread. Its page is mapped at the given address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "target-collector/wire/line_stream.h"

namespace perfleet::bare_metal {

class Ns16550Port final : public LinePort {
public:
    explicit Ns16550Port(std::uint64_t device) : device_{device} {}

    [[nodiscard]] std::size_t write(std::span<const std::byte> bytes) override {
        std::size_t written = 0;
        for (; written < bytes.size() && (status() & kTransmitEmpty) != 0; ++written) {
            at(kData) = std::to_integer<std::uint8_t>(bytes[written]);
        }
        return written;
    }
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override {
        std::size_t taken = 0;
        for (; taken < into.size() && (status() & kReceived) != 0; ++taken) {
            into[taken] = std::byte{at(kData)};
        }
        return taken;
    }
    [[nodiscard]] bool take_damage() override { return (std::exchange(seen_, 0) & kErrors) != 0; }

private:
    static constexpr std::uint64_t kData = 0;
    static constexpr std::uint64_t kLineStatus = 5;
    static constexpr std::uint8_t kReceived = 1U << 0;
    static constexpr std::uint8_t kErrors = 0xfU << 1;  // overrun, parity, framing, break: set until read once
    static constexpr std::uint8_t kTransmitEmpty = 1U << 5;

    volatile std::uint8_t& at(std::uint64_t offset) const {
        return *reinterpret_cast<volatile std::uint8_t*>(device_ + offset);
    }
    std::uint8_t status() {
        const std::uint8_t now = at(kLineStatus);
        seen_ |= now;
        return now;
    }

    std::uint64_t device_;
    std::uint8_t seen_ = 0;
};

}  // namespace perfleet::bare_metal
