// One step up the stack: from a frame's registers and its rule to the registers of its caller.
//
// Shared by all that unwind. Everything that comes from the program (registers, stack) is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "target-collector/process/unwind/unwind_rule.h"

namespace perfleet {

// Why a call chain ends where it does.
enum class UnwindEnd : std::uint8_t {
    kOutermost,       // at the entry of the program or the thread: it is whole
    kNoTable,         // code without unwind information or frame pointer
    kBadAddress,      // what was found can't be a frame
    kDepth,           // more frames than are kept
    kStackNotCopied,  // the next frame is beyond the part of the stack that the kernel has copied
};

struct UnwindRegisters {
    std::uint64_t pc = 0;
    std::uint64_t sp = 0;
    std::uint64_t fp = 0;
    std::uint64_t lr = 0;                             // AArch64
    bool is_by_frame_pointer = false;                 // the step that found them
    std::optional<std::uint64_t> rbx = std::nullopt;  // x86-64; empty: it isn't known
};

// A copy of a thread's stack from its stack pointer on.
struct StackCopy {
    static constexpr std::size_t kWordBytes = 8;
    static constexpr std::size_t kWordBytes32 = 4;  // of a program of 32 bits

    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
    bool is_cut = false;  // the stack goes on behind it
    std::size_t word_bytes = kWordBytes;

    // Empty: it isn't in the copy, or not aligned.
    [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t at) const;
    // Why a word isn't there.
    [[nodiscard]] UnwindEnd missing(std::uint64_t at) const;
};

// Moves `registers` to the caller. Otherwise why there is none; they are unchanged then.
[[nodiscard]] std::optional<UnwindEnd> unwind_step(UnwindMachine machine, const UnwindRule& rule,
                                                   const StackCopy& stack, UnwindRegisters& registers);

// The same by the frame record that the frame pointer points to (return address behind the caller's frame pointer).
// Records end with a frame pointer of 0, as the ABIs ask for.
[[nodiscard]] std::optional<UnwindEnd> unwind_step_by_frame_pointer(UnwindMachine machine, const StackCopy& stack,
                                                                    UnwindRegisters& registers);

}  // namespace perfleet
