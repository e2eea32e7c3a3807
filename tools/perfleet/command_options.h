// The options of query commands (query-engine/option) on a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "query-engine/option/option.h"

namespace perfleet {

// Adds each option, in a group of the help; what is given goes into `values`, which must outlive the parsing. Faults
// are told by CLI11 as those of any option.
void add_command_options(CLI::App& command, std::span<const OptionSpec> options, OptionValues& values,
                         const std::string& group = "Options");

}  // namespace perfleet
