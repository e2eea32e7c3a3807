// The instructions of a function, as objdump prints them, with its source lines where there are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct DisassembledLine {
    bool is_instruction = false;
    std::uint64_t address = 0;  // of an instruction, as the file has it
    std::string text;           // of an instruction, without its address; else of the source, or its file and line
};

struct Disassembly {
    std::string objdump = "objdump";
    std::string file;
    std::uint64_t first = 0;  // addresses, both included
    std::uint64_t last = 0;
    bool has_source = true;
    bool has_inlines = false;  // with has_source: which functions were inlined where

    // Errors: kNotFound when there is no such objdump; kInvalid with its words when it fails, or prints nothing.
    [[nodiscard]] Result<std::vector<DisassembledLine>> read() const;
};

}  // namespace perfleet
