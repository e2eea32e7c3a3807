// The details of samples beside their call chains, in rows of Kind::kDetailedSample.
#pragma once

#include <cstdint>

namespace perfleet {

struct SampledDetails {
    std::uint64_t fields = 0;       // of perf::sample_type::kAddr and kDetails, without registers
    std::uint64_t branch_type = 0;  // perf_event_attr.branch_sample_type, with kBranchStack
    // Masks by perf's numbers of registers (schemas/perf/registers.h); 0: none.
    std::uint64_t user_registers = 0;       // as they are when the thread is back in its program
    std::uint64_t interrupt_registers = 0;  // where it was interrupted, which may be in the kernel

    [[nodiscard]] bool any() const { return (fields | user_registers | interrupt_registers) != 0; }
};

}  // namespace perfleet
