// Where an ELF file of Python 3.11 has the interpreter's state.
//
// A small reader with a bound on everything, for it reads whatever programs a host runs.
#pragma once

#include <cstdint>
#include <optional>

#include "target-collector/source/linux/image/read_file.h"

namespace perfleet {

// Addresses are the file's; its code is mapped at other ones, all as far away.
struct PythonSymbols {
    std::uint64_t runtime = 0;       // _PyRuntime
    std::uint64_t code_offset = 0;   // of its segment of code, in the file
    std::uint64_t code_address = 0;  // and in memory
};

// Nothing where it isn't one of Python 3.11 for 64 bits.
[[nodiscard]] std::optional<PythonSymbols> python_symbols_of(const ReadFile& read);

}  // namespace perfleet
