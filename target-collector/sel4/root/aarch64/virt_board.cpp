#include "target-collector/sel4/root/aarch64/virt_board.h"

#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/registers.h"
#include "target-collector/sel4/kernel/boot_keys.h"
#include "target-collector/sel4/kernel/cycles.h"
#include "target-collector/sel4/root/boot/virtio_stream.h"
#include "target-collector/sel4/run/cycle_rate.h"

namespace perfleet::sel4 {
namespace {

using bare_metal::print;

// Devices are mapped at their own addresses, as their drivers know them; in this order.
constexpr std::uint64_t kKeysPage = 0x0400'0000;  // the second bank of flash
constexpr std::uint64_t kUartPage = 0x0900'0000;
constexpr std::uint64_t kRealTimeClock = 0x0901'0000;
constexpr std::uint64_t kVirtioPages = 0x0a00'0000;
constexpr std::uint64_t kVirtioSizeBytes = 0x4000;

// Badges of the notification: what signals it.
constexpr seL4_Word kTickBadge = 1;
constexpr seL4_Word kCyclesBadge = 2;

}  // namespace

VirtBoard::VirtBoard(Objects& objects, const seL4_BootInfo& info) : objects_{objects} {
    objects.map_device(kKeysPage);
    objects.map_device(kUartPage);
    objects.map_device(kRealTimeClock);
    for (std::uint64_t at = kVirtioPages; at < kVirtioPages + kVirtioSizeBytes; at += 1U << seL4_PageBits) {
        objects.map_device(at);
    }
    tree_ = find_device_tree(info);
}

// The board's clock (PL031) counts seconds: the moment at which it turns is known to a few microseconds. Between two
// turns the cycle counter's rate is measured.
BoardClock VirtBoard::find_clock() {
    constexpr std::uint64_t kUncertaintyNs = 1'000'000;
    start_cycles();
    const auto next_turn = [] {
        const std::uint32_t before = bare_metal::read_device(kRealTimeClock);
        std::uint32_t now = before;
        while (now == before) {
            now = bare_metal::read_device(kRealTimeClock);
        }
        return now;
    };
    const auto timer_now = [] {
        bare_metal::synchronise();
        return PERFLEET_READ_REGISTER(cntpct_el0);
    };
    (void)next_turn();
    const ClockMoment begun = read_moment(timer_now, cycles);
    const std::uint32_t seconds = next_turn();
    const ClockMoment now = read_moment(timer_now, cycles);
    return {now.cycles_per_second(begun, PERFLEET_READ_REGISTER(cntfrq_el0)),
            {now.cycles, UtcNs{std::int64_t{seconds} * kNsPerSecond}, kUncertaintyNs}};
}

ByteStream& VirtBoard::open_stream(const RunWords& words, std::uint64_t seed) {
    return open_virtio_stream(objects_, {}, words, seed);
}

ZmtpMechanism& VirtBoard::open_keys() const { return find_boot_keys(kKeysPage, tree_); }

// Its handler; it signals with that badge.
seL4_CPtr VirtBoard::take_interrupt(seL4_Word number, seL4_Word badge) {
    const seL4_CPtr handler = objects_.take_slot();
    require(static_cast<seL4_Word>(
                seL4_IRQControl_Get(seL4_CapIRQControl, number, seL4_CapInitThreadCNode, handler, seL4_WordBits)),
            "an interrupt");
    require(static_cast<seL4_Word>(seL4_IRQHandler_SetNotification(handler, objects_.with_badge(woken_, badge))),
            "an interrupt's notification");
    return handler;
}

void VirtBoard::start_machine(const BoardClock& clock, std::uint64_t seed) {
    counters_.emplace();
    woken_ = objects_.make(seL4_NotificationObject);
    alarm_.emplace(take_interrupt(El0Alarm::kInterrupt, kTickBadge));
    constexpr std::uint64_t kPerSecond = 1'000;
    overflow_.emplace(take_interrupt(CycleOverflow::kInterrupt, kCyclesBadge), clock.cycles_per_second / kPerSecond,
                      seed);
    // On MCS kernels a thread's consumed time can be asked once only, which the timer's samples do.
#ifdef CONFIG_KERNEL_MCS
    const bool works = false;
#else
    const bool works = overflow_->works(woken_);
#endif
    if (!works) {
        overflow_.reset();
    }
    print(works ? "overflows of the PMU interrupt\n" : "overflows of the PMU don't interrupt\n");
}

WakeCauses VirtBoard::wait() const {
    seL4_Word badges = 0;
    seL4_Wait(woken_, &badges);
    return {(badges & kTickBadge) != 0, (badges & kCyclesBadge) != 0};
}

}  // namespace perfleet::sel4
