// The end of `diff`, which `compare` has, too.
#pragma once

#include "daemon/option/program_options.h"
#include "tools/perfleet/query/query_source.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

// Asks, prints, and gives the exit status: 1 where a condition of --fail-if holds, or may and `fails_undecided`.
[[nodiscard]] Result<int> show_diff(QueryOptions& query, const OutputOptions& output, bool fails_undecided);

[[nodiscard]] OptionRow fail_undecided_row(bool& fails_undecided);

}  // namespace perfleet
