// Recognises the scheduler's own frames at the leaf of a kernel chain; their caller is what an off-CPU thread waits
// for.
//
// A value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "target-collector/process/kernel_images.h"

namespace perfleet {

class SchedulerFrames {
public:
    // Recognises none if the kernel's symbols are hidden.
    explicit SchedulerFrames(const KernelImages& kernel)
        : functions_{kernel.scheduler()},
          text_{kernel.kernel().address, kernel.kernel().address + kernel.kernel().size} {}

    // Number of leading frames that belong to the scheduler, or to BPF programs that it has called.
    [[nodiscard]] std::size_t count(std::span<const std::uint64_t> addresses) const;

private:
    std::vector<KernelLayout::Range> functions_;
    KernelLayout::Range text_;  // beyond it are BPF programs, trampolines and modules
};

}  // namespace perfleet
