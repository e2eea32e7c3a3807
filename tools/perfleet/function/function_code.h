// Finds where a function's calls end: returns, and jumps to other functions (tail calls).
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
    std::uint64_t end = 0;    // after the last byte; equal to `first`: empty

    [[nodiscard]] bool holds(std::uint64_t address) const { return address >= first && address < end; }
};

struct CodeBranch {
    std::uint64_t address = 0;
    function_branch branch{};
};

struct FunctionCode {
    std::vector<CodeBranch> exits;  // in the order of addresses
    std::vector<CodeBranch> again;  // jumps to its first instruction
    // Those of `exits` that jump outside: to another function, or to a part of this one that isn't known yet.
    std::map<std::uint64_t, std::uint64_t> leads_to;  // address of the jump ─▶ place
    bool is_first_emulated = false;                   // CodeInstruction::is_emulated
    std::string unknown;                              // why its exits can't be found; empty: found
};

// `parts` of the function contain all of `lines`; the first part begins with its first instruction. `has_hidden_ways`:
// code that no instruction leads to may run, too (exception handlers); otherwise unreachable bytes are taken for data.
[[nodiscard]] FunctionCode read_function_code(std::span<const DisassembledLine> lines, std::span<const CodeRange> parts,
                                              std::uint16_t machine, bool has_hidden_ways);

}  // namespace perfleet
