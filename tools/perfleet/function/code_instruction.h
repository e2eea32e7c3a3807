// What an instruction does to the flow of control, from its text as objdump prints it (AT&T syntax).
//
// Of x86-64 and AArch64. Plain values.
#pragma once

#include <cstdint>

#include "target-collector/source/linux/bpf/function_tracer.h"
#include "tools/perfleet/query/disassembly.h"

namespace perfleet {

enum class InstructionKind {
    kPlain,         // goes on to the next one; calls, too
    kReturn,        //
    kJump,          // to `target`, on its condition
    kComputedJump,  // to where registers or memory say
    kStop,          // traps
    kUnknown,       // isn't understood
};

struct CodeInstruction {
    InstructionKind kind = InstructionKind::kPlain;
    std::uint64_t target = 0;
    std::uint64_t reads_from = 0;  // memory that it names by a distance from itself; 0: none
    function_branch branch = jump_if(FUNCTION_ALWAYS);
    bool has_lock = false;  // begins with a prefix that a jump may skip
    // The kernel emulates it where a probe stands on it, and needn't step over it: Linux does so with few.
    bool is_emulated = false;
    bool is_refused = false;    // the kernel puts no probe there
    bool is_untracked = false;  // "notrack": of compilers the jump of a switch, which stays in the function

    [[nodiscard]] bool goes_on() const {
        return kind == InstructionKind::kPlain ||
               (kind == InstructionKind::kJump && branch.condition != FUNCTION_ALWAYS);
    }
};

// `machine`: EM_X86_64 or EM_AARCH64.
[[nodiscard]] CodeInstruction read_instruction(const DisassembledLine& line, std::uint16_t machine);

}  // namespace perfleet
