// Options of several commands: those of query commands (query-engine/option), and what each of them has by itself.
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

// --data: where `perfleet record` writes, if it isn't given.
CLI::Option* add_data_option(CLI::App& command, std::string& folder);

// --force, of what is written to --output.
CLI::Option* add_force_flag(CLI::App& command, bool& is_forced, const std::string& details = "");

// --fail-undecided, which needs --fail-if.
CLI::Option* add_fail_undecided_flag(CLI::App& command, bool& fails_undecided);

}  // namespace perfleet
