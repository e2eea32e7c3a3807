// An answer that a command made by itself, on standard output; its warnings on standard error.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "query-engine/statistic/answer.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// --format text|json|csv.
void add_format_option(CLI::App& command, std::string& format);

// On standard output, at once. Errors: kIo.
[[nodiscard]] Result<Done> print_text(std::string_view text);

// `format` as the option has checked it. Errors: kIo.
[[nodiscard]] Result<Done> print_answer(const Answer& answer, const std::string& format);

}  // namespace perfleet
