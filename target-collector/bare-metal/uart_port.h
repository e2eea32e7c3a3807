// A PL011 as a telemetry line (Arm DDI 0183), polled. Nothing else may print on it: console.h.
//
// One thread. Its page is mapped at the given address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "target-collector/wire/line_stream.h"

namespace perfleet::bare_metal {

class UartPort final : public LinePort {
public:
    static constexpr std::uint64_t kVirtBoard = 0x0900'0000;

    explicit constexpr UartPort(std::uint64_t device = kVirtBoard) : device_{device} {}

    // 8 bits, no parity, FIFOs on; the speed stays as set by the firmware. Turning the FIFOs on loses earlier input: a
    // peer that has already sent something must start again.
    void start();

    [[nodiscard]] std::size_t write(std::span<const std::byte> bytes) override;
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
    [[nodiscard]] bool take_damage() override { return std::exchange(is_damaged_, false); }

private:
    static constexpr int kRefusalAttemptsMax = 1'000'000;

    std::uint64_t device_;
    bool is_damaged_ = false;
};

}  // namespace perfleet::bare_metal
