#include "target-collector/source/sel4/thread_sampler.h"

#include "schemas/vocabulary/assert.h"
#include "target-collector/small/frame_chain.h"

namespace perfleet::sel4 {
namespace {

constexpr std::uint64_t kNobodysCycles = ~std::uint64_t{0};  // larger than any thread's

}  // namespace

ThreadSampler::ThreadSampler(KernelInterface& kernel, UtilisationWindow* utilisation,
                             std::span<const SampledThread> threads)
    : kernel_{kernel}, utilisation_{utilisation}, threads_{threads} {
    PERFLEET_ASSERT(threads.size() <= kThreadsMax);
}

std::optional<std::uint64_t> ThreadSampler::ran_ticks(std::size_t index) {
    const ThreadNumber number = threads_[index].number;
    if (utilisation_ == nullptr) {
        return kernel_.consumed_ticks(number);
    }
    const std::uint64_t cycles = utilisation_->cycles_of(number);
    // If the count decreased, the number now belongs to another thread, which was created in this window.
    const std::uint64_t before = cycles < cycles_[index] ? utilisation_->cycles_before_window(number) : cycles_[index];
    const std::uint64_t ran = cycles - before;
    cycles_[index] = cycles;
    return ran;
}

std::optional<ThreadSample> ThreadSampler::take(std::size_t index) {
    PERFLEET_ASSERT(index < threads_.size());
    if (threads_[index].number == ThreadNumber{}) {
        cycles_[index] = kNobodysCycles;
        return std::nullopt;
    }
    const auto ran = ran_ticks(index);
    ThreadRegisters registers;
    if (ran == std::uint64_t{0} || !kernel_.read_registers(threads_[index].number, registers)) {
        return std::nullopt;
    }
    if (!ran && registers.is_at_syscall) {
        return std::nullopt;
    }
    const SampledThread& thread = threads_[index];
    const std::size_t count = thread.reader == nullptr ? walk_frames(registers.frame, thread.stack, addresses_)
                                                       : walk_frames(registers.frame, *thread.reader, addresses_);
    return ThreadSample{thread.number, ran, std::span{addresses_}.first(count)};
}

}  // namespace perfleet::sel4
