// The options of query commands that select rows: select, session, event, from, until, the filters comm, pid, tid,
// image, symbol, cpu, cgroup, container, pod, unit and tag. Also those that say how the query runs: exact, threads,
// memory.
//
// Pure functions over untrusted values. Errors: kUsage, which names the option.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/option/option.h"
#include "query-engine/select/selection.h"

namespace perfleet {

[[nodiscard]] std::span<const OptionSpec> selection_options();

[[nodiscard]] constexpr bool is_frame_filter(std::string_view option) {
    return option == "image" || option == "symbol";
}
// Of frames, or of other columns of a row.
[[nodiscard]] bool is_row_filter(std::string_view option);
// The filters that are given, as a command line has them: "--comm 'nginx' --symbol 'main'".
[[nodiscard]] std::string filters_text(const OptionValues& values);

// Ignores other options. Relative times are relative to `now`.
[[nodiscard]] Result<Selection> read_selection(const OptionValues& values_untrusted, UtcNs now);

}  // namespace perfleet
