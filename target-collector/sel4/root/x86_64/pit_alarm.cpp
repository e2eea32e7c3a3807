#include "target-collector/sel4/root/x86_64/pit_alarm.h"

#include <algorithm>

#include "target-collector/sel4/kernel/cycles.h"

namespace perfleet::sel4 {
namespace {

constexpr std::uint16_t kChannel0 = 0x40;
constexpr std::uint16_t kControl = 0x43;
constexpr std::uint8_t kInterruptOnce =
    0x30;  // channel 0, low byte then high byte, mode 0: interrupt on terminal count
constexpr std::uint64_t kTicksPerSecond = 1'193'182;
constexpr std::uint64_t kCountMax = 0xffff;

// Where PCs have the timer's interrupt: on the first I/O APIC's pin 2, by its edge.
constexpr seL4_Word kIoApic = 0;
constexpr seL4_Word kPin = 2;
constexpr seL4_Word kByEdge = 0;
constexpr seL4_Word kActiveHigh = 0;
constexpr seL4_Word kVector = 0;

}  // namespace

PitAlarm::PitAlarm(Objects& objects, std::uint64_t cycles_per_second)
    : ports_{objects, kChannel0, kControl},
      cycles_per_second_{cycles_per_second},
      notification_{objects.make(seL4_NotificationObject)},
      interrupt_{objects.take_slot()} {
    require(
        static_cast<seL4_Word>(seL4_IRQControl_GetIOAPIC(seL4_CapIRQControl, seL4_CapInitThreadCNode, interrupt_,
                                                         seL4_WordBits, kIoApic, kPin, kByEdge, kActiveHigh, kVector)),
        "the timer's interrupt");
    require(static_cast<seL4_Word>(seL4_IRQHandler_SetNotification(interrupt_, notification_)),
            "the timer's notification");
    clear();
}

std::uint64_t PitAlarm::now() { return cycles().value; }

void PitAlarm::set(std::uint64_t moment) {
    // First: an edge that comes while the interrupt is masked is lost.
    (void)seL4_IRQHandler_Ack(interrupt_);
    const std::uint64_t before = now();
    const std::uint64_t ahead = moment > before ? std::min(moment - before, cycles_per_second_) : 0;
    const std::uint64_t count = std::clamp(ahead * kTicksPerSecond / cycles_per_second_, std::uint64_t{1}, kCountMax);
    ports_.out(kChannel0, static_cast<std::uint8_t>(count));
    ports_.out(kChannel0, static_cast<std::uint8_t>(count >> 8));
}

// The control word alone: it waits for a count.
void PitAlarm::clear() { ports_.out(kControl, kInterruptOnce); }

WakeCauses PitAlarm::wait() {
    seL4_Word badge = 0;
    seL4_Wait(notification_, &badge);
    return {.is_tick = true};
}

}  // namespace perfleet::sel4
