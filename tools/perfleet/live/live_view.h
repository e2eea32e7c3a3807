// The interactive view of a live profile. ncurses stays in live_view.cpp.
#pragma once

#include "tools/perfleet/live/live_table.h"
#include "tools/perfleet/shell/print_answer.h"

namespace perfleet {

// Shows the profile on the terminal until q or a signal, of which `stop_fd` becomes readable. The terminal is restored
// when this returns, and while the process is stopped. Errors: kUnsupported (ncurses doesn't know the terminal).
[[nodiscard]] Result<Done> run_view(LiveProfile& profile, LiveOptions options, const OutputOptions& printing,
                                    int stop_fd);

}  // namespace perfleet
