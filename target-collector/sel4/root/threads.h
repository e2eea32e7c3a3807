// Starts threads of the root task, in its address space or another: the load runs in them.
//
// One thread.
#pragma once

#include <array>
#include <cstddef>

#include "target-collector/sel4/kernel/stock_kernel.h"
#include "target-collector/sel4/root/boot/objects.h"

namespace perfleet::sel4 {

struct alignas(16) ThreadStack {
    std::array<std::byte, 8U << 10> bytes;
};

// A thread that runs `entry` forever, at that priority. Borrows `stack` and `name`. It has no IPC buffer: it may use
// only those libsel4 calls that need none (seL4_Signal, …WithMRs).
[[nodiscard]] StockKernel::ThreadCaps start_thread(Objects& objects, const seL4_BootInfo& info, void (*entry)(),
                                                   ThreadStack& stack, seL4_Word priority, const char* name);

// … in the address space `vspace`, which maps the image and the stack that ends at `stack_end`.
[[nodiscard]] StockKernel::ThreadCaps start_thread_in(Objects& objects, const seL4_BootInfo& info, void (*entry)(),
                                                      seL4_CPtr vspace, std::uint64_t stack_end, seL4_Word priority,
                                                      const char* name);

}  // namespace perfleet::sel4
