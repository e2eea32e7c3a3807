// Where a function's code ends a call: returns, and jumps to other functions (tail calls).
//
// Of x86-64 and AArch64, from its disassembly. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/perfleet/function/code_instruction.h"
#include "tools/perfleet/query/disassembly.h"

namespace perfleet {

struct CodeRange {
    std::uint64_t first = 0;  // addresses
    std::uint64_t end = 0;    // behind the last byte; as `first`: nothing

    [[nodiscard]] bool holds(std::uint64_t address) const { return address >= first && address < end; }
};

struct CodeBranch {
    std::uint64_t address = 0;
    function_branch branch{};
};

struct FunctionCode {
    std::vector<CodeBranch> exits;  // in the order of addresses
    std::vector<CodeBranch> again;  // jumps to its first instruction
    // Of `exits`, those that lead to a place outside: to another function, or a part of this one that isn't known yet.
    std::map<std::uint64_t, std::uint64_t> leads_to;  // address of the jump ─▶ place
    bool is_first_emulated = false;                   // CodeInstruction::is_emulated
    std::string unknown;                              // what keeps its ends from being found; empty: nothing does
};

// `parts` of the function that hold all of `lines`: the first begins with its first instruction. With `has_hidden_ways`
// it also runs where no instruction leads (handlers of exceptions); without, what can't be reached is taken for data.
[[nodiscard]] FunctionCode read_function_code(std::span<const DisassembledLine> lines, std::span<const CodeRange> parts,
                                              std::uint16_t machine, bool has_hidden_ways);

}  // namespace perfleet
