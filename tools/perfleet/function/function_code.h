// Where a function's code ends a call: returns, and jumps to other functions (tail calls).
//
// Of x86-64, from its disassembly. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/perfleet/disassembly.h"

namespace perfleet {

struct CodeRange {
    std::uint64_t first = 0;  // addresses
    std::uint64_t end = 0;    // behind the last byte; as `first`: nothing

    [[nodiscard]] bool holds(std::uint64_t address) const { return address >= first && address < end; }
};

struct CodeExit {
    std::uint64_t address = 0;
    bool is_register_jump = false;
    std::uint32_t jump_register = 0;  // as the processor numbers it
};

struct FunctionCode {
    std::vector<CodeExit> exits;
    std::size_t tail_call_count = 0;  // of `exits`, not counting jumps by register
    bool begins_again = false;        // something jumps to its first instruction
    bool has_calls = false;
    // The kernel emulates its first instruction, and needn't step over it: Linux does so with few.
    bool is_first_emulated = false;
    // Where a condition leads out of both ranges: a part of it that the compiler has put elsewhere.
    std::optional<std::uint64_t> leads_to;
    std::string unknown;  // the instruction that wasn't understood; empty: all were
};

// `body` holds the function's first instruction; `cold` the part that the compiler has put elsewhere, if there is one.
[[nodiscard]] FunctionCode read_function_code(std::span<const DisassembledLine> lines, CodeRange body, CodeRange cold);

}  // namespace perfleet
