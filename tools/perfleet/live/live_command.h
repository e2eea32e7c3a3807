// `perfleet top -a | -p PID | -- COMMAND`: a profile without a session, shown while it is recorded.
#pragma once

#include "tools/perfleet/live/live_table.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

// On a terminal the interactive view, else a table each period, until the collection ends or a signal comes. Returns
// the exit status. The output of a command goes to files, whose names are printed at the end.
[[nodiscard]] Result<int> run_live(LiveOptions options, const OutputOptions& printing);

}  // namespace perfleet
