// The frames at the leaf of a kernel chain that are the scheduler's own: what a thread that left its CPU waits for
// stands behind them.
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
    // None where the kernel's symbols are hidden.
    explicit SchedulerFrames(const KernelImages& kernel);

    // How many of the chain's first frames are the scheduler's, or of BPF programs that it has called.
    [[nodiscard]] std::size_t count(std::span<const std::uint64_t> addresses) const;

private:
    struct Function {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
    };
    std::vector<Function> functions_;
    Function text_;  // beyond it are BPF programs and trampolines, and modules
};

}  // namespace perfleet
