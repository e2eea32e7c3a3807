// A row of an unwind table: how to find the caller's registers at one place of an image's code.
//
// Values only. Offsets are bytes. The CFA (canonical frame address, DWARF 5, 6.4) is the stack pointer of the caller.
#pragma once

#include <compare>
#include <cstdint>

namespace perfleet {

enum class UnwindMachine : std::uint8_t { kX86_64, kAarch64 };

// How the CFA is computed.
enum class CfaBase : std::uint8_t {
    kNone,           // code without unwind information, or with an unsupported form
    kOutermost,      // the entry of a program or thread: it has no caller
    kStackPointer,   // CFA = sp + cfa_offset
    kFramePointer,   // CFA = fp + cfa_offset
    kAtStack,        // CFA = *(sp + cfa_offset) + cfa_addend
    kAtFrame,        // CFA = *(fp + cfa_offset) + cfa_addend
    kProcedureStub,  // x86-64's PLT: CFA = sp + 8 + (8 if (pc & 15) >= cfa_offset)
    kRbx,            // x86-64: CFA = rbx + cfa_offset (_dl_runtime_resolve)
};

// The place of the caller's value of a register.
enum class SavedAt : std::uint8_t {
    kSame,     // still in the register
    kCfa,      // *(CFA + offset)
    kStack,    // *(sp + offset)
    kFrame,    // *(fp + offset)
    kUnknown,  // only for rbx
};

struct UnwindRule {
    CfaBase cfa_base = CfaBase::kNone;
    SavedAt return_address = SavedAt::kSame;  // kSame: in the link register
    SavedAt frame_pointer = SavedAt::kSame;
    bool is_signal_frame = false;  // the caller was interrupted: its pc isn't a return address
    std::int32_t cfa_offset = 0;
    std::int32_t cfa_addend = 0;
    std::int32_t return_address_offset = 0;
    std::int32_t frame_pointer_offset = 0;
    std::int32_t rbx_offset = 0;  // x86-64
    SavedAt rbx = SavedAt::kSame;

    friend bool operator==(const UnwindRule&, const UnwindRule&) = default;
    friend auto operator<=>(const UnwindRule&, const UnwindRule&) = default;
};

}  // namespace perfleet
