// Decodes how an instruction changes the control flow, from its text as objdump prints it (AT&T syntax).
//
// Of x86-64 and AArch64. Plain values.
#pragma once

#include <cstdint>

#include "target-collector/source/linux/bpf/function_tracer.h"
#include "tools/perfleet/query/disassembly.h"

namespace perfleet {

enum class InstructionKind {
    kPlain,         // continues with the next one; also calls
    kReturn,        //
    kJump,          // to `target`, possibly conditional
    kComputedJump,  // to an address from registers or memory
    kStop,          // traps
    kUnknown,       // not decoded
};

struct CodeInstruction {
    InstructionKind kind = InstructionKind::kPlain;
    std::uint64_t target = 0;
    std::uint64_t reads_from = 0;  // address of memory named relative to the instruction; 0: none
    function_branch branch = jump_if(FUNCTION_ALWAYS);
    bool has_lock = false;  // begins with a prefix that a jump may skip
    // The kernel emulates it under a probe instead of single-stepping it; Linux emulates few instructions.
    bool is_emulated = false;
    bool is_refused = false;    // the kernel refuses a probe on it
    bool is_untracked = false;  // "notrack": compilers use it for a switch, whose targets stay in the function

    [[nodiscard]] bool goes_on() const {
        return kind == InstructionKind::kPlain ||
               (kind == InstructionKind::kJump && branch.condition != FUNCTION_ALWAYS);
    }
};

// `machine`: EM_X86_64 or EM_AARCH64.
[[nodiscard]] CodeInstruction read_instruction(const DisassembledLine& line, std::uint16_t machine);

}  // namespace perfleet
