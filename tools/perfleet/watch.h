// A command that is run again and again, as by watch(1), until Ctrl-C.
#pragma once

#include <functional>

namespace perfleet {

// Calls `show` every `interval_s` seconds; on a terminal each output replaces the one before, else a blank line stands
// between them. Ends with status 0 on SIGINT or SIGTERM, or with show's status where the first call fails.
[[nodiscard]] int watch(double interval_s, const std::function<int()>& show);

}  // namespace perfleet
