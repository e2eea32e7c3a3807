// What the loader must know about its machine, one of QEMU's `virt` boards.
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
// Where QEMU loads the files (tools/run-sel4).
inline constexpr std::uint64_t kKernelFileAddress = kMemoryAddress + 0x2000'0000;
inline constexpr std::uint64_t kRootFileAddress = kMemoryAddress + 0x2400'0000;

// seL4's first six arguments, in the layout that machine.cpp's start reads.
struct KernelArguments {
    std::uint64_t root_begin;  // physical
    std::uint64_t root_end;
    std::uint64_t root_offset;  // from virtual to physical addresses
    std::uint64_t root_entry;   // virtual
    std::uint64_t tree_address;
    std::uint64_t tree_size_bytes;
};

[[noreturn]] void give_up(std::string_view what, const Fault& fault = {});
// Turns translation on as the kernel's file expects; `kernel` is its first segment.
[[noreturn]] void start_kernel(const ElfSegment& kernel, std::uint64_t entry, const KernelArguments& arguments);

}  // namespace perfleet::sel4
