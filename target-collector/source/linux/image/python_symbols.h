// Finds the interpreter's state in an ELF file of Python 3.11.
//
// A small parser with limits on everything, because it reads any program that a host runs.
#pragma once

#include <cstdint>
#include <optional>

#include "target-collector/source/linux/image/read_file.h"

namespace perfleet {

// Addresses are the file's; all of its mapping is shifted by the same distance.
struct PythonSymbols {
    std::uint64_t runtime = 0;       // _PyRuntime
    std::uint64_t code_offset = 0;   // file offset of its code segment
    std::uint64_t code_address = 0;  // address of that segment
};

// Nothing unless it is Python 3.11 for 64 bits.
[[nodiscard]] std::optional<PythonSymbols> python_symbols_of(const ReadFile& read);

}  // namespace perfleet
