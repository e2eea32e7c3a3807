// QEMU's `virt` board (AArch64) under seL4; ../board.h describes what a board provides.
//
// One thread. It stops with a message if the machine was started without a needed device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "target-collector/sel4/kernel/aarch64/el0_alarm.h"
#include "target-collector/sel4/kernel/aarch64/pmu.h"
#include "target-collector/sel4/kernel/board_clock.h"
#include "target-collector/sel4/root/boot/boot_tree.h"
#include "target-collector/sel4/root/boot/objects.h"
#include "target-collector/wire/byte_stream.h"
#include "target-collector/wire/zmtp_mechanism.h"

namespace perfleet::sel4 {

class VirtBoard {
public:
    static constexpr TargetId kTarget{0x7065'7266'7365'4c34};
    static constexpr std::string_view kName = "qemu-sel4";
    static constexpr std::string_view kArchitecture = "aarch64";
    static constexpr std::string_view kClockName = "pmccntr";

    // Borrows both.
    VirtBoard(Objects& objects, const seL4_BootInfo& info);

    [[nodiscard]] RunWords words() const { return run_words_of(tree_); }
    [[nodiscard]] SessionId session() const { return session_of(tree_); }
    [[nodiscard]] static BoardClock find_clock();
    [[nodiscard]] ByteStream& open_stream(const RunWords& words, std::uint64_t seed);
    [[nodiscard]] ZmtpMechanism& open_keys() const;

    void start_machine(const BoardClock& clock, std::uint64_t seed);
    // Valid from then on.
    [[nodiscard]] Alarm& alarm() { return *alarm_; }
    [[nodiscard]] static PmuDescription pmu() { return describe_pmu(); }
    [[nodiscard]] WakeCauses wait() const;
    [[nodiscard]] CycleInterrupts* cycle_interrupts() { return overflow_ ? &*overflow_ : nullptr; }
    [[nodiscard]] EventCounters& counters() { return *counters_; }

private:
    [[nodiscard]] seL4_CPtr take_interrupt(seL4_Word number, seL4_Word badge);

    Objects& objects_;
    std::span<const std::byte> tree_;  // the device tree
    seL4_CPtr woken_ = seL4_CapNull;   // the notification that all interrupts signal
    std::optional<El0Alarm> alarm_;
    std::optional<CycleOverflow> overflow_;
    std::optional<PmuCounters> counters_;
};

}  // namespace perfleet::sel4
