// The options that say which rows a query is about, as each query command has them: select, session, event, from,
// until, the filters comm, pid, tid, image, symbol and cpu; and how it is run: exact, threads, memory.
//
// Pure functions over untrusted values. Errors: kUsage, which names the option.
#pragma once

#include <span>

#include "daemon/option/option.h"
#include "query-engine/select/selection.h"

namespace perfleet {

[[nodiscard]] std::span<const OptionSpec> selection_options();

// Values of other options are passed over. `now` is what relative times count from.
[[nodiscard]] Result<Selection> read_selection(const OptionValues& values_untrusted, UtcNs now);

}  // namespace perfleet
