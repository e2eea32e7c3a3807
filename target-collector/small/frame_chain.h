// Call chains along frame pointers: a frame record of two words holds the caller's frame pointer and the return
// address; callers stand above.
//
// AArch64 and x86-64: the frame pointer leads to the record. RISC-V: the record ends where the frame pointer leads; a
// function that calls none keeps its caller's frame pointer alone, at the record's end, and the return address is still
// in its register.
//
// Freestanding. Whatever stands in the registers and on the stack, nothing outside the stack is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace perfleet {

enum class FrameLayout : std::uint8_t { kRecordAtPointer, kRecordBelowPointer };
#if defined(__riscv)
inline constexpr FrameLayout kOwnFrameLayout = FrameLayout::kRecordBelowPointer;
#else
inline constexpr FrameLayout kOwnFrameLayout = FrameLayout::kRecordAtPointer;
#endif

// Of a thread where it was interrupted.
struct FrameRegisters {
    std::uint64_t pc = 0;
    std::uint64_t frame_pointer = 0;
    std::uint64_t return_address = 0;  // RISC-V alone: ra
};

// A stack that isn't mapped here at the addresses that its records hold: a platform reads it another way.
class StackReader {
public:
    static constexpr std::size_t kRecordSizeBytes = 16;

    StackReader() = default;
    StackReader(const StackReader&) = delete;
    StackReader& operator=(const StackReader&) = delete;

    // Called before each chain: what was found out for the one before may have changed.
    virtual void begin_chain() {}
    // What stands at `address`, a multiple of 16 in the thread's own address space. False: it isn't the stack's.
    [[nodiscard]] virtual bool read(std::uint64_t address, std::span<std::byte, kRecordSizeBytes> into) = 0;

protected:
    ~StackReader() = default;
};

// The thread's chain, whose stack lies in `stack` (at the addresses that the records hold): where it was, then return
// addresses. At most `into.size()`; returns how many.
[[nodiscard]] std::size_t walk_frames(const FrameRegisters& registers, std::span<const std::byte> stack,
                                      std::span<std::uint64_t> into, FrameLayout layout = kOwnFrameLayout);
[[nodiscard]] std::size_t walk_frames(const FrameRegisters& registers, StackReader& stack,
                                      std::span<std::uint64_t> into, FrameLayout layout = kOwnFrameLayout);

}  // namespace perfleet
