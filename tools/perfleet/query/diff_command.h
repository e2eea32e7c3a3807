// The part of `diff` that `compare` shares.
#pragma once

#include "daemon/option/program_options.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

// Queries, prints, and returns the exit status: 1 if a condition of --fail-if holds, 3 if one is undecided and
// `fails_undecided`.
[[nodiscard]] Result<int> show_diff(QueryOptions& query, const OutputOptions& output, bool fails_undecided);

[[nodiscard]] OptionRow fail_undecided_row(bool& fails_undecided);

}  // namespace perfleet
