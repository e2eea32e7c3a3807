// A PC (x86-64) under seL4, like QEMU's `pc`; ../board.h describes what a board provides. COM1 is the console, COM2
// leads to the gateway.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/vocabulary/ids.h"
#include "target-collector/pmu/pmu_description.h"
#include "target-collector/sel4/kernel/board_clock.h"
#include "target-collector/sel4/root/boot/objects.h"
#include "target-collector/sel4/root/x86_64/com_port.h"
#include "target-collector/sel4/root/x86_64/pit_alarm.h"
#include "target-collector/sel4/run/run_words.h"
#include "target-collector/wire/line_stream.h"
#include "target-collector/wire/zmtp_mechanism.h"

namespace perfleet::sel4 {

// No event counters: only the kernel may access their control registers.
class NoCounters final : public EventCounters {
public:
    [[nodiscard]] std::size_t count() const override { return 0; }
    [[nodiscard]] std::string_view name(std::size_t /*index*/) const override { return {}; }
    [[nodiscard]] std::uint64_t read(std::size_t /*index*/) override { return 0; }
};

class PcBoard {
public:
    static constexpr TargetId kTarget{0x7065'7266'7365'5043};
    static constexpr std::string_view kName = "qemu-sel4-pc";
    static constexpr std::string_view kArchitecture = "x86_64";
    static constexpr std::string_view kClockName = "tsc";

    // Borrows both.
    PcBoard(Objects& objects, const seL4_BootInfo& info);

    // From QEMU's `-fw_cfg name=opt/perfleet/run,string=seconds=N`.
    [[nodiscard]] RunWords words() const;
    // From the processor, if it generates random numbers.
    [[nodiscard]] static SessionId session();
    [[nodiscard]] BoardClock find_clock() const;
    [[nodiscard]] ByteStream& open_stream(const RunWords& words, std::uint64_t seed);
    [[noreturn]] static ZmtpMechanism& open_keys();

    void start_machine(const BoardClock& clock, std::uint64_t seed);
    // Valid from then on.
    [[nodiscard]] Alarm& alarm() { return *alarm_; }
    [[nodiscard]] static PmuDescription pmu();
    [[nodiscard]] WakeCauses wait() { return alarm_->wait(); }
    [[nodiscard]] static CycleInterrupts* cycle_interrupts() { return nullptr; }
    [[nodiscard]] EventCounters& counters() { return counters_; }

private:
    Objects& objects_;
    ComPort console_;
    ComPort line_;
    LineStream stream_;
    std::optional<PitAlarm> alarm_;
    NoCounters counters_;
};

}  // namespace perfleet::sel4
