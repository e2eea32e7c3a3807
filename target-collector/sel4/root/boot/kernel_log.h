// The buffer of a kernel that logs entries or tracepoints.
#pragma once

#include <cstddef>
#include <cstdint>

#include "target-collector/sel4/kernel/stock_kernel.h"
#include "target-collector/sel4/root/boot/objects.h"

namespace perfleet::sel4 {

// Maps it at `address`, a multiple of 2 MiB. Nothing on kernels without a log.
[[nodiscard]] inline StockKernel::Log map_kernel_log(Objects& objects, std::uint64_t address) {
    const BenchmarkMode mode = StockKernel::built_for().mode;
    if (mode != BenchmarkMode::kKernelEntries && mode != BenchmarkMode::kTracepoints) {
        return {};
    }
    const seL4_CPtr frame = objects.map_large_page(address, Objects::Access::kRead);
    return {frame, {reinterpret_cast<const std::byte*>(address), kLogBufferSizeBytes}};
}

}  // namespace perfleet::sel4
