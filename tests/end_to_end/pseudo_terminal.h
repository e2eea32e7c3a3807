// A program in a pseudo-terminal, as a user at a shell sees it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

struct TerminalRun {
    Ending ending;
    std::string output;  // standard output and standard error, lines ending in \n
};

// Standard input, output and error are a terminal of so many columns and 24 lines. `environment` holds NAME=VALUE;
// without it TERM is xterm, and other variables that change how text looks aren't set.
[[nodiscard]] TerminalRun run_in_terminal(const std::vector<std::string>& command, unsigned short columns,
                                          const std::vector<std::string>& environment = {});

// The widest of the output's lines, without escape sequences of colours.
[[nodiscard]] std::size_t widest_line(const std::string& output);

}  // namespace perfleet::end_to_end
