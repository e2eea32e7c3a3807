// What the loader has to know of its machine, one of QEMU's `virt` boards.
#pragma once

#include <cstdint>
#include <string_view>

#include "schemas/vocabulary/result.h"
#include "target-collector/sel4/loader/elf_image.h"

namespace perfleet::sel4 {

#if defined(__riscv)
inline constexpr std::uint64_t kMemoryAddress = 0x8000'0000;
#else
inline constexpr std::uint64_t kMemoryAddress = 0x4000'0000;
#endif
// Where QEMU lays down the files (tools/run-sel4).
inline constexpr std::uint64_t kKernelFileAddress = kMemoryAddress + 0x2000'0000;
inline constexpr std::uint64_t kRootFileAddress = kMemoryAddress + 0x2400'0000;

// What seL4 expects in its first six argument registers, as machine.cpp's start has them.
struct KernelArguments {
    std::uint64_t root_begin;  // physical
    std::uint64_t root_end;
    std::uint64_t root_offset;  // from virtual to physical addresses
    std::uint64_t root_entry;   // virtual
    std::uint64_t tree_address;
    std::uint64_t tree_size_bytes;
};

[[noreturn]] void give_up(std::string_view what, const Fault& fault = {});
// With translation on, as the kernel's file wants it: its first segment is `kernel`.
[[noreturn]] void start_kernel(const ElfSegment& kernel, std::uint64_t entry, const KernelArguments& arguments);

}  // namespace perfleet::sel4
