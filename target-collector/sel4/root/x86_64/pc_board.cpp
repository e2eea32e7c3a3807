#include "target-collector/sel4/root/x86_64/pc_board.h"

#include <array>

#include "schemas/vocabulary/assert.h"
#include "target-collector/sel4/kernel/cycles.h"
#include "target-collector/sel4/root/x86_64/fw_cfg.h"
#include "target-collector/sel4/root/x86_64/pc_clock.h"
#include "target-collector/sel4/root/x86_64/pc_console.h"

namespace perfleet::sel4 {
namespace {

CpuidRegisters cpuid(std::uint32_t leaf) {
    CpuidRegisters registers{.eax = leaf};
    asm volatile("cpuid" : "+a"(registers.eax), "=b"(registers.ebx), "+c"(registers.ecx), "=d"(registers.edx));
    return registers;
}

bool makes_random_numbers() {
    constexpr std::uint32_t kRdrand = 1U << 30;
    return (cpuid(1).ecx & kRdrand) != 0;
}

std::uint64_t random_number() {
    std::uint64_t number = 0;
    bool is_there = false;
    // Intel SDM, 7.3.17.1: ten times without one means that there is none to come.
    constexpr int kAttempts = 10;
    for (int i = 0; i < kAttempts && !is_there; ++i) {
        asm volatile("rdrand %0" : "=r"(number), "=@ccc"(is_there));
    }
    PERFLEET_ASSERT(is_there);
    return number;
}

}  // namespace

PcBoard::PcBoard(Objects& objects, const seL4_BootInfo& /*info*/)
    : objects_{objects},
      console_{objects, ComPort::kCom1},
      line_{objects, ComPort::kCom2},
      stream_{line_, LineStream::End::kTarget} {
    open_console(console_);
}

RunWords PcBoard::words() const {
    std::array<char, 96> text{};
    const auto words = parse_run_words(read_fw_cfg(objects_, "opt/perfleet/run", text));
    if (!words) {
        perfleet_panic("opt/perfleet/run", 0, kRunWordsError);
    }
    return *words;
}

PmuDescription PcBoard::pmu() { return pmu_of_cpuid(cpuid, false); }

SessionId PcBoard::session() {
    return makes_random_numbers() ? SessionId{random_number(), random_number()} : SessionId{};
}

// Between two turns of the clock the TSC's rate is measured. QEMU's clock changes at the fraction of a second at which
// the machine was started; clocks of real boards aren't better.
BoardClock PcBoard::find_clock() const {
    constexpr std::uint64_t kUncertaintyNs = 1'000'000'000;
    const IoPorts ports{objects_, kClockFirstPort, kClockLastPort};
    (void)wait_for_second(ports);
    const Ticks begun = cycles();
    const std::int64_t seconds = wait_for_second(ports);
    const Ticks now = cycles();
    return {now.value - begun.value, {now, UtcNs{seconds * kNsPerSecond}, kUncertaintyNs}};
}

ByteStream& PcBoard::open_stream(const RunWords& words, std::uint64_t /*seed*/) {
    if (words.gateway) {
        perfleet_panic("seL4", 0,
                       "gateway=: this board has no network, because its cards are PCI's; COM2 leads to the gateway");
    }
    line_.refuse_what_was_said();
    return stream_;
}

ZmtpMechanism& PcBoard::open_keys() {
    perfleet_panic("seL4", 0, "keys=on: this board has a serial line; perfleet relay at its other end has the keys");
}

void PcBoard::start_machine(const BoardClock& clock, std::uint64_t /*seed*/) {
    // 64 kB a second.
    constexpr std::size_t kBytesAtOnce = 64;
    line_.set_pace(kBytesAtOnce, clock.cycles_per_second / 1'000);
    alarm_.emplace(objects_, clock.cycles_per_second);
}

}  // namespace perfleet::sel4
