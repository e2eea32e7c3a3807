// The options of query commands that select rows: select, session, event, from, until, the filters comm, pid, tid,
// image, symbol, cpu, cgroup, container, pod, unit and tag. Also those that say how the query runs: exact, threads,
// memory.
//
// Pure functions over untrusted values. Errors: kUsage, which names the option.
#pragma once

#include <span>

#include "daemon/option/option.h"
#include "query-engine/select/selection.h"

namespace perfleet {

[[nodiscard]] std::span<const OptionSpec> selection_options();

// Ignores other options. Relative times are relative to `now`.
[[nodiscard]] Result<Selection> read_selection(const OptionValues& values_untrusted, UtcNs now);

}  // namespace perfleet
