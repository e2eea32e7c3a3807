// Threads of the root task's own, in its address space or another: what the load runs in.
//
// One thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "target-collector/sel4/kernel/stock_kernel.h"
#include "target-collector/sel4/root/boot/objects.h"

namespace perfleet::sel4 {

struct alignas(16) ThreadStack {
    std::array<std::byte, 8U << 10> bytes;
};

// A thread that runs `entry`, for ever, at that priority. `stack` and `name` are borrowed. It has no IPC buffer: of
// libsel4's calls it may use those that need none (seL4_Signal, …WithMRs).
[[nodiscard]] StockKernel::ThreadCaps start_thread(Objects& objects, const seL4_BootInfo& info, void (*entry)(),
                                                   ThreadStack& stack, seL4_Word priority, const char* name);

// … in the address space `vspace`, where the image and the stack that ends at `stack_end` are mapped.
[[nodiscard]] StockKernel::ThreadCaps start_thread_in(Objects& objects, const seL4_BootInfo& info, void (*entry)(),
                                                      seL4_CPtr vspace, std::uint64_t stack_end, seL4_Word priority,
                                                      const char* name);

}  // namespace perfleet::sel4
