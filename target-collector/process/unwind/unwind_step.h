// One step of unwinding: from a frame's registers and its rule to the registers of its caller.
//
// Used by all unwinders. Everything from the program (registers, stack) is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "target-collector/process/unwind/unwind_rule.h"

namespace perfleet {

// Why a call chain ends.
enum class UnwindEnd : std::uint8_t {
    kOutermost,       // entry of the program or thread: the chain is complete
    kNoTable,         // code without unwind information or frame pointer
    kBadAddress,      // not a valid frame
    kDepth,           // the limit of frames is reached
    kStackNotCopied,  // the next frame is beyond the copied part of the stack
};

struct UnwindRegisters {
    std::uint64_t pc = 0;
    std::uint64_t sp = 0;
    std::uint64_t fp = 0;
    std::uint64_t lr = 0;                             // AArch64
    bool is_by_frame_pointer = false;                 // the step that found them used the frame pointer
    std::optional<std::uint64_t> rbx = std::nullopt;  // x86-64; empty: unknown
};

// A copy of a thread's stack, beginning at its stack pointer.
struct StackCopy {
    static constexpr std::size_t kWordBytes = 8;
    static constexpr std::size_t kWordBytes32 = 4;  // of a 32-bit program

    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
    bool is_cut = false;  // the stack continues after the copy
    std::size_t word_bytes = kWordBytes;

    // Empty: not in the copy, or not aligned.
    [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t at) const;
    // Why a word isn't available.
    [[nodiscard]] UnwindEnd missing(std::uint64_t at) const;
};

// Moves `registers` to the caller. If there is none, returns the reason and leaves them unchanged.
[[nodiscard]] std::optional<UnwindEnd> unwind_step(UnwindMachine machine, const UnwindRule& rule,
                                                   const StackCopy& stack, UnwindRegisters& registers);

// The same by the frame record that the frame pointer points to (frame pointer and return address of the caller). The
// chain of records ends with a frame pointer of 0, as the ABIs require.
[[nodiscard]] std::optional<UnwindEnd> unwind_step_by_frame_pointer(UnwindMachine machine, const StackCopy& stack,
                                                                    UnwindRegisters& registers);

}  // namespace perfleet
