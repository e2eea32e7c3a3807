// Runs another program to its end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct ProgramOutput {
    std::string text;  // standard output and standard error, together
    int status = -1;   // -1: ended by a signal
};

// Runs the program without input. If it writes more than `output_size_bytes_max`, its pipe is closed.
// `command` has at least one word; the first is looked up in PATH. Errors: kNotFound (no such program), kPermission,
// kIo.
[[nodiscard]] Result<ProgramOutput> run_program(const std::vector<std::string>& command,
                                                std::size_t output_size_bytes_max = 256U << 20U);

// Runs the program with this process's input and output; returns its exit status, 1 if a signal ended it. Errors: as of
// run_program().
[[nodiscard]] Result<int> run_program_here(const std::vector<std::string>& command);

}  // namespace perfleet
