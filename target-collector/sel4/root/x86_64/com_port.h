// A 16550 UART (TL16C550D data sheet) behind I/O ports, polled: a line for telemetry, or a console.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "target-collector/sel4/root/x86_64/io_ports.h"
#include "target-collector/wire/line_stream.h"

namespace perfleet::sel4 {

class ComPort final : public LinePort {
public:
    static constexpr std::uint16_t kCom1 = 0x3f8;
    static constexpr std::uint16_t kCom2 = 0x2f8;

    // 115,200 bits a second, 8 bits, no parity, FIFOs on.
    ComPort(Objects& objects, std::uint16_t base);

    // Turning the FIFOs on has lost earlier input: a ZMTP peer that has already sent something is made to start again.
    void refuse_what_was_said();
    // Limits telemetry to `bytes` at once, followed by a pause of `cycles`: each byte is a system call, and the same
    // thread must also take samples.
    void set_pace(std::size_t bytes, std::uint64_t cycles) {
        pace_bytes_ = bytes;
        pace_cycles_ = cycles;
    }

    [[nodiscard]] std::size_t write(std::span<const std::byte> bytes) override;
    [[nodiscard]] std::size_t read(std::span<std::byte> into) override;
    [[nodiscard]] bool take_damage() override { return std::exchange(is_damaged_, false); }

private:
    static constexpr int kRefusalAttemptsMax = 1'000'000;

    IoPorts ports_;
    std::uint16_t base_;
    bool has_heard_ = false;
    bool is_damaged_ = false;
    std::size_t pace_bytes_ = ~std::size_t{0};
    std::uint64_t pace_cycles_ = 0;
    std::size_t left_bytes_ = 0;
    std::uint64_t begun_ = 0;  // when left_bytes_ was refilled
    std::uint64_t empty_ = 0;  // when the input was found empty
};

}  // namespace perfleet::sel4
