// Samples chosen threads on a stock kernel: where each was interrupted, its call chain, and how long it ran since it
// was sampled last, where the kernel can tell. Who calls this is woken by a timer and runs before all of them.
//
// Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "target-collector/source/sel4/kernel_interface.h"
#include "target-collector/source/sel4/utilisation_window.h"

namespace perfleet::sel4 {

struct SampledThread {
    ThreadNumber number;                 // 0: nobody is in this place now
    std::span<const std::byte> stack{};  // where its frames lie, as mapped here and there alike
    StackReader* reader = nullptr;       // of a stack that isn't mapped here: in place of `stack`; borrowed
};

struct ThreadSample {
    ThreadNumber thread;
    // Nothing: the kernel can't tell. Then the thread may as well have been ready all the time without running.
    std::optional<std::uint64_t> ran_ticks;
    std::span<const std::uint64_t> addresses{};  // the leaf first; good until the next sample
};

class ThreadSampler {
public:
    static constexpr std::size_t kFramesMax = 32;

    // All borrowed. `utilisation`: null but in a kernel of that mode. What `threads` says is read at each take(): who
    // starts and deletes threads keeps it up to date, and may give a number, and its capabilities, to another thread: a
    // tick later at the earliest, so that nothing of the one counts for the other.
    ThreadSampler(KernelInterface& kernel, UtilisationWindow* utilisation, std::span<const SampledThread> threads);

    [[nodiscard]] std::size_t thread_count() const { return threads_.size(); }
    // Nothing: the thread didn't run since it was sampled last, or it is gone; or the kernel can't tell, and it stands
    // at a system call, where waiting threads do.
    [[nodiscard]] std::optional<ThreadSample> take(std::size_t index);

private:
    [[nodiscard]] std::optional<std::uint64_t> ran_ticks(std::size_t index);

    KernelInterface& kernel_;
    UtilisationWindow* utilisation_;
    std::span<const SampledThread> threads_;
    std::array<std::uint64_t, kThreadsMax> cycles_{};  // of each thread, when it was sampled last
    std::array<std::uint64_t, kFramesMax> addresses_{};
};

}  // namespace perfleet::sel4
