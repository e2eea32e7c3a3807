// Samples chosen threads on a stock kernel: where each was interrupted, its call chain, and how long it ran since its
// last sample, if the kernel reports it. The caller is woken by a timer and runs before all of them.
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
    ThreadNumber number;                 // 0: no thread has this place now
    std::span<const std::byte> stack{};  // memory of its frames, mapped at the same address in both address spaces
    StackReader* reader = nullptr;       // used instead of `stack` if it isn't mapped here; borrowed
};

struct ThreadSample {
    ThreadNumber thread;
    // Nothing: the kernel doesn't report it. Then the thread may have been ready all the time without running.
    std::optional<std::uint64_t> ran_ticks;
    std::span<const std::uint64_t> addresses{};  // leaf first; valid until the next sample
};

class ThreadSampler {
public:
    static constexpr std::size_t kFramesMax = 32;

    // Borrows all. `utilisation`: null except in a kernel of that mode. `threads` is read at each take(): the code that
    // starts and deletes threads must keep it up to date. A number and its capabilities may be reused for another
    // thread, a tick later at the earliest, so that their times aren't mixed.
    ThreadSampler(KernelInterface& kernel, UtilisationWindow* utilisation, std::span<const SampledThread> threads);

    [[nodiscard]] std::size_t thread_count() const { return threads_.size(); }
    // Nothing: the thread didn't run since its last sample, or is gone; or the kernel doesn't report it, and the thread
    // is at a system call, where waiting threads are.
    [[nodiscard]] std::optional<ThreadSample> take(std::size_t index);

private:
    [[nodiscard]] std::optional<std::uint64_t> ran_ticks(std::size_t index);

    KernelInterface& kernel_;
    UtilisationWindow* utilisation_;
    std::span<const SampledThread> threads_;
    std::array<std::uint64_t, kThreadsMax> cycles_{};  // of each thread, at its last sample
    std::array<std::uint64_t, kFramesMax> addresses_{};
};

}  // namespace perfleet::sel4
