// Disassembles a function with objdump, with source lines if available.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct DisassembledLine {
    bool is_instruction = false;
    std::uint64_t address = 0;  // of an instruction, as the file has it
    std::string text;           // an instruction without its address; or a source line, or file and line
};

struct Disassembly {
    std::string objdump = "objdump";
    std::string file;
    std::uint64_t first = 0;  // addresses, both included
    std::uint64_t last = 0;
    bool has_source = true;
    bool has_inlines = false;  // with has_source: mark inlined functions

    // Errors: kNotFound when there is no such objdump; kInvalid with its message when it fails, or prints nothing.
    [[nodiscard]] Result<std::vector<DisassembledLine>> read() const;
};

}  // namespace perfleet
