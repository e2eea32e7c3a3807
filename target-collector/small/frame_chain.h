// Call chains along frame pointers, as AArch64 and RISC-V code keeps them: the frame pointer leads to a record of two
// words, the caller's frame pointer and the return address; callers stand above.
//
// Freestanding. Whatever stands in the registers and on the stack, nothing outside the stack is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace perfleet {

// The chain of a thread that was interrupted at `pc`, whose stack lies in `stack` (at the addresses that the records
// hold): where it was, then return addresses. At most `into.size()`; returns how many.
[[nodiscard]] std::size_t walk_frames(std::uint64_t pc, std::uint64_t frame_pointer, std::span<const std::byte> stack,
                                      std::span<std::uint64_t> into);

}  // namespace perfleet
