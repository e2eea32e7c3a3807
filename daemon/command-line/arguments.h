// How every program reads its arguments: what it says of those that are wrong is the same everywhere.
//
// On the first thread, before there is another.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {

// Fills what the options of `app` point to. Nothing: the program goes on. Else it ends with this exit status: 0 where
// help or the version was asked for, and printed on standard output; 2 where standard error says what is wrong, and
// which option or command was probably meant.
//
// Beside its options each program understands two that --help doesn't show, as its first argument:
//   --completion bash|zsh|fish           prints completion for a shell
//   --manual-pages DATE PROSE FOLDER     writes its pages into FOLDER; PROSE/NAME.SECTION.prose continues them
//   (manual.h)
[[nodiscard]] std::optional<int> parse_arguments(CLI::App& app, int argument_count, const char* const* arguments);

// The sentence about wrong arguments, without the program's name.
[[nodiscard]] std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace perfleet
