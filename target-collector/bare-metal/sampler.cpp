#include "target-collector/bare-metal/sampler.h"

#include <cstring>

#include "target-collector/bare-metal/registers.h"

namespace perfleet::bare_metal {
namespace {

// The interrupt controller (Arm GICv2), at its places on the `virt` board.
constexpr std::uint64_t kDistributor = 0x0800'0000;
constexpr std::uint64_t kDistributorControl = kDistributor;
constexpr std::uint64_t kSetEnabled = kDistributor + 0x100;
constexpr std::uint64_t kProcessor = 0x0801'0000;
constexpr std::uint64_t kProcessorControl = kProcessor;
constexpr std::uint64_t kPriorityMask = kProcessor + 0x04;
constexpr std::uint64_t kAcknowledged = kProcessor + 0x0c;
constexpr std::uint64_t kEndOfInterrupt = kProcessor + 0x10;
constexpr std::uint32_t kInterruptMask = 0x3ff;
constexpr std::uint32_t kFirstSpecial = 1'020;  // no interrupt is there

constexpr std::uint32_t kTimerInterrupt = 30;
constexpr std::uint32_t kCyclesInterrupt = 23;

constexpr std::uint64_t kCycleCounter = 1ULL << 31;
constexpr std::uint64_t kCountersOn = 1U << 0 | 1U << 6;  // and the cycle counter has 64 bits
constexpr std::uint64_t kNotAtEl1 = 1ULL << 31;

}  // namespace

std::uint64_t JitteredPeriod::next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    const std::uint64_t random = (state_ * 0x2545'f491'4f6c'dd1d) >> 32;
    return mean_ / 2 + ((mean_ * random) >> 32);
}

void Sampler::start() {
    write_device(kSetEnabled, 1U << kTimerInterrupt | 1U << kCyclesInterrupt);
    write_device(kDistributorControl, 1);
    write_device(kPriorityMask, 0xff);
    write_device(kProcessorControl, 1);

    PERFLEET_WRITE_REGISTER(pmcr_el0, kCountersOn);
    PERFLEET_WRITE_REGISTER(pmccfiltr_el0, kNotAtEl1);
    PERFLEET_WRITE_REGISTER(pmovsclr_el0, kCycleCounter);
    arm_cycles();
    PERFLEET_WRITE_REGISTER(pmintenset_el1, kCycleCounter);
    PERFLEET_WRITE_REGISTER(pmcntenset_el0, kCycleCounter);

    timer_at_ticks_ = counter();
    arm_timer();
    PERFLEET_WRITE_REGISTER(cntp_ctl_el0, 1);
    synchronise();
}

void Sampler::stop() {
    PERFLEET_WRITE_REGISTER(cntp_ctl_el0, 0);
    PERFLEET_WRITE_REGISTER(pmcntenclr_el0, kCycleCounter);
    PERFLEET_WRITE_REGISTER(pmintenclr_el1, kCycleCounter);
    synchronise();
}

void Sampler::arm_timer() {
    // Absolute, so that a late interrupt doesn't shift those after it; what is over already is left out.
    const std::uint64_t now = counter();
    do {
        timer_at_ticks_ += timer_period_.next();
    } while (timer_at_ticks_ <= now);
    PERFLEET_WRITE_REGISTER(cntp_cval_el0, timer_at_ticks_);
    synchronise();
}

void Sampler::arm_cycles() {
    PERFLEET_WRITE_REGISTER(pmccntr_el0, 0 - cycles_period_.next());
    synchronise();
}

Sampler::Cause Sampler::take_interrupt() {
    const std::uint32_t acknowledged = read_device(kAcknowledged);
    const std::uint32_t number = acknowledged & kInterruptMask;
    if (number >= kFirstSpecial) {
        return Cause::kNone;
    }
    Cause cause = Cause::kNone;
    if (number == kTimerInterrupt) {
        arm_timer();
        cause = Cause::kTimer;
    } else if (number == kCyclesInterrupt) {
        // In this order: cleared after it was loaded, an overflow in between would be lost, and sampling end for good.
        PERFLEET_WRITE_REGISTER(pmovsclr_el0, kCycleCounter);
        arm_cycles();
        cause = Cause::kCycles;
    }
    write_device(kEndOfInterrupt, acknowledged);
    return cause;
}

std::size_t walk_frames(const Context& context, std::span<const std::byte> stack, std::span<std::uint64_t> into) {
    constexpr std::size_t kRecordSizeBytes = 16;  // the caller's frame pointer, the return address
    constexpr std::size_t kFramePointer = 29;
    if (into.empty()) {
        return 0;
    }
    std::size_t count = 0;
    into[count++] = context.pc;
    const auto begin = reinterpret_cast<std::uint64_t>(stack.data());
    std::uint64_t at = context.x[kFramePointer];
    while (count < into.size() && at % kRecordSizeBytes == 0 && at >= begin &&
           at - begin <= stack.size() - kRecordSizeBytes) {
        std::uint64_t record[2];
        std::memcpy(record, stack.data() + (at - begin), sizeof record);
        if (record[1] == 0) {
            break;
        }
        into[count++] = record[1];
        if (record[0] <= at) {
            break;  // callers stand above
        }
        at = record[0];
    }
    return count;
}

}  // namespace perfleet::bare_metal
