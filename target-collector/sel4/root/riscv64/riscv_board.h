// QEMU's `virt` board (RISC-V, 64 bits) under seL4; ../board.h describes what a board provides.
//
// One thread. It stops with a message if the machine was started without a needed device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "target-collector/pmu/pmu_description.h"
#include "target-collector/sel4/kernel/board_clock.h"
#include "target-collector/sel4/kernel/riscv64/goldfish_alarm.h"
#include "target-collector/sel4/root/boot/boot_tree.h"
#include "target-collector/sel4/root/boot/objects.h"
#include "target-collector/wire/byte_stream.h"
#include "target-collector/wire/zmtp_mechanism.h"

namespace perfleet::sel4 {

// The 64-bit counters of every RISC-V: the firmware lets user level read them (scounteren).
class BaseCounters final : public EventCounters {
public:
    [[nodiscard]] std::size_t count() const override { return 2; }
    [[nodiscard]] std::string_view name(std::size_t index) const override;
    [[nodiscard]] std::uint64_t read(std::size_t index) override;
};

class RiscvBoard {
public:
    static constexpr TargetId kTarget{0x7065'7266'7365'5256};
    static constexpr std::string_view kName = "qemu-sel4-riscv";
    static constexpr std::string_view kArchitecture = "riscv64";
    static constexpr std::string_view kClockName = "cycle";

    // Borrows both.
    RiscvBoard(Objects& objects, const seL4_BootInfo& info);

    [[nodiscard]] RunWords words() const { return run_words_of(tree_); }
    [[nodiscard]] SessionId session() const { return session_of(tree_); }
    [[nodiscard]] static BoardClock find_clock();
    [[nodiscard]] ByteStream& open_stream(const RunWords& words, std::uint64_t seed);
    [[nodiscard]] ZmtpMechanism& open_keys() const;

    void start_machine(const BoardClock& clock, std::uint64_t seed);
    // Valid from then on.
    [[nodiscard]] Alarm& alarm() { return *alarm_; }
    [[nodiscard]] static PmuDescription pmu();
    [[nodiscard]] WakeCauses wait() const;
    [[nodiscard]] static CycleInterrupts* cycle_interrupts() { return nullptr; }
    [[nodiscard]] EventCounters& counters() { return counters_; }

private:
    Objects& objects_;
    std::span<const std::byte> tree_;
    seL4_CPtr woken_ = seL4_CapNull;
    std::optional<GoldfishAlarm> alarm_;
    BaseCounters counters_;
};

}  // namespace perfleet::sel4
