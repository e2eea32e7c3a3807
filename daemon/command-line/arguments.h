// Parses the arguments of every program, with the same messages for wrong ones.
//
// On the first thread, before others are started.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace perfleet {

// Exit statuses of commands, for their manual pages; kExitStatusesOfDaemons has those of daemons.
inline constexpr const char* kExitStatuses =
    "Exit status: where a COMMAND ran to its end, its own (128 + N: signal N ended it); else\n"
    "  0  done; also where a comparison is undecided\n"
    "  1  failed, or a condition of --fail-if holds\n"
    "  2  wrong usage\n"
    "  3  undecided, with --fail-undecided; or --precision was not reached";
inline constexpr const char* kExitStatusesOfDaemons =
    "Exit status: where a COMMAND ran to its end, its own (128 + N: signal N ended it); else\n"
    "  0  done, or ended by SIGINT or SIGTERM\n"
    "  1  failed, or not everything was delivered or kept\n"
    "  2  wrong usage";

// Sets the variables of the options of `app`. Returns nothing if the program should continue, else its exit status. 0:
// help or the version was printed on standard output. 2: standard error got a message that says what is wrong, and
// which option or command was probably meant.
//
// Beside its options each program accepts two as its first argument that --help doesn't show:
//   --completion bash|zsh|fish           prints completion for a shell
//   --manual-pages DATE PROSE FOLDER     writes its pages into FOLDER, with PROSE/NAME.SECTION.prose after them
//                                        (manual.h)
[[nodiscard]] std::optional<int> parse_arguments(CLI::App& app, int argument_count, const char* const* arguments);

// The message about wrong arguments, without the program's name.
[[nodiscard]] std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace perfleet
