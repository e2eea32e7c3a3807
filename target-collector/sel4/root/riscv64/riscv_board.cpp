#include "target-collector/sel4/root/riscv64/riscv_board.h"

#include "target-collector/sel4/kernel/boot_keys.h"
#include "target-collector/sel4/kernel/cycles.h"
#include "target-collector/sel4/root/boot/virtio_stream.h"
#include "target-collector/sel4/run/cycle_rate.h"

namespace perfleet::sel4 {
namespace {

// Devices are mapped at their own addresses, as their drivers know them; in this order.
constexpr std::uint64_t kUartPage = 0x1000'0000;
constexpr std::uint64_t kVirtioPages = 0x1000'1000;
constexpr std::uint64_t kVirtioDistance = 0x1000;
constexpr int kVirtioDevices = 8;
constexpr std::uint64_t kKeysPage = 0x2200'0000;  // the second bank of flash

}  // namespace

std::string_view BaseCounters::name(std::size_t index) const { return index == 0 ? "instructions" : "cpu cycles"; }

std::uint64_t BaseCounters::read(std::size_t index) {
    if (index != 0) {
        return cycles().value;
    }
    std::uint64_t instructions = 0;
    asm volatile("rdinstret %0" : "=r"(instructions));
    return instructions;
}

RiscvBoard::RiscvBoard(Objects& objects, const seL4_BootInfo& info) : objects_{objects}, tree_{find_device_tree(info)} {
    objects.map_device(GoldfishAlarm::kDevice);
    objects.map_device(kUartPage);
    for (int i = 0; i < kVirtioDevices; ++i) {
        objects.map_device(kVirtioPages + static_cast<std::uint64_t>(i) * kVirtioDistance);
    }
    objects.map_device(kKeysPage);
}

PmuDescription RiscvBoard::pmu() {
    constexpr std::uint64_t kCycleAndInstret = 0b101;
    return {.fixed_count = 2, .fixed_bits = 64, .fixed_mask = kCycleAndInstret};
}

// The rate of the processor's cycles, by the clock.
BoardClock RiscvBoard::find_clock() {
    constexpr std::uint64_t kUncertaintyNs = 100'000;
    constexpr std::uint64_t kMeasuredNs = kNsPerSecond / 10;
    constexpr int kTurnsBetweenReads = 10'000;
    const auto clock_now = [] { return GoldfishAlarm::utc_ns(GoldfishAlarm::kDevice); };
    const ClockMoment begun = read_moment(clock_now, cycles);
    while (clock_now() - begun.clock < kMeasuredNs) {
        // Reading a device is the most expensive operation in QEMU.
        for (int i = 0; i < kTurnsBetweenReads; ++i) {
            asm volatile("nop");
        }
    }
    const ClockMoment now = read_moment(clock_now, cycles);
    return {now.cycles_per_second(begun, kNsPerSecond),
            {now.cycles, UtcNs{static_cast<std::int64_t>(now.clock)}, kUncertaintyNs}};
}

ByteStream& RiscvBoard::open_stream(const RunWords& words, std::uint64_t seed) {
    return open_virtio_stream(
        objects_, {.devices = kVirtioPages, .device_distance = kVirtioDistance, .device_count = kVirtioDevices}, words,
        seed);
}

ZmtpMechanism& RiscvBoard::open_keys() const { return find_boot_keys(kKeysPage, tree_); }

void RiscvBoard::start_machine(const BoardClock& /*clock*/, std::uint64_t /*seed*/) {
    woken_ = objects_.make(seL4_NotificationObject);
    const seL4_CPtr handler = objects_.take_slot();
    require(static_cast<seL4_Word>(seL4_IRQControl_Get(seL4_CapIRQControl, GoldfishAlarm::kInterrupt,
                                                       seL4_CapInitThreadCNode, handler, seL4_WordBits)),
            "the clock's interrupt");
    require(static_cast<seL4_Word>(seL4_IRQHandler_SetNotification(handler, woken_)), "its notification");
    alarm_.emplace(GoldfishAlarm::kDevice, handler);
}

WakeCauses RiscvBoard::wait() const {
    seL4_Word badges = 0;
    seL4_Wait(woken_, &badges);
    return {.is_tick = true};
}

}  // namespace perfleet::sel4
