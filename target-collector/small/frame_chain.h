// Call chains by frame pointers: a frame record of two words holds the caller's frame pointer and the return address;
// callers have higher addresses.
//
// AArch64 and x86-64: the frame pointer holds the record's address. RISC-V: it holds the address after the record; a
// function that calls none stores only its caller's frame pointer, at the record's end, and its return address is still
// in the register.
//
// Freestanding. Whatever registers and stack contain, nothing outside the stack is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

enum class FrameLayout : std::uint8_t { kRecordAtPointer, kRecordBelowPointer };
#if defined(__riscv)
inline constexpr FrameLayout kOwnFrameLayout = FrameLayout::kRecordBelowPointer;
#else
inline constexpr FrameLayout kOwnFrameLayout = FrameLayout::kRecordAtPointer;
#endif

// Registers of a thread where it was interrupted.
struct FrameRegisters {
    std::uint64_t pc = 0;
    std::uint64_t frame_pointer = 0;
    std::uint64_t return_address = 0;  // RISC-V only: ra
};

// Reads a stack that isn't mapped here at the addresses in its records.
class StackReader : NonCopyable {
public:
    static constexpr std::size_t kRecordSizeBytes = 16;

    // Called before each chain: knowledge from the last chain may be outdated.
    virtual void begin_chain() {}
    // Reads the record at `address`, a multiple of 16 in the thread's own address space. False: it isn't in the stack.
    [[nodiscard]] virtual bool read(std::uint64_t address, std::span<std::byte, kRecordSizeBytes> into) = 0;

protected:
    ~StackReader() = default;
};

// The call chain of a thread whose stack is `stack` (at the addresses in its records): the interrupted address, then
// return addresses. Returns how many, at most `into.size()`.
[[nodiscard]] std::size_t walk_frames(const FrameRegisters& registers, std::span<const std::byte> stack,
                                      std::span<std::uint64_t> into, FrameLayout layout = kOwnFrameLayout);
[[nodiscard]] std::size_t walk_frames(const FrameRegisters& registers, StackReader& stack,
                                      std::span<std::uint64_t> into, FrameLayout layout = kOwnFrameLayout);

}  // namespace perfleet
