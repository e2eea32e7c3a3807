// The part of `diff` that `compare` shares.
#pragma once

#include "daemon/option/program_options.h"
#include "query-engine/statistic/answer/answer.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

[[nodiscard]] Result<Done> print_diff(const Answer& answer, const OutputOptions& output);

// The exit status: 1 if a condition of --fail-if holds, 3 if one is undecided and `fails_undecided`.
[[nodiscard]] int status_of_diff(const Answer& answer, bool fails_undecided);

[[nodiscard]] OptionRow fail_undecided_row(bool& fails_undecided);

}  // namespace perfleet
