// A command that is run again and again, as by watch(1), until Ctrl-C.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace perfleet {

inline constexpr const char* kClearScreen = "\033[H\033[2J";

// From here to the program's end SIGINT and SIGTERM make the descriptor readable: a second one, while it ends, changes
// nothing. What is read is the sum of the signals' numbers.
[[nodiscard]] int catch_stop_signals();

// Whether one of these processes has not ended yet.
[[nodiscard]] bool any_runs(const std::vector<std::uint32_t>& pids);

// Calls `show` every `interval_s` seconds; on a terminal each output replaces the one before, else a blank line stands
// between them. Ends with status 0 on SIGINT or SIGTERM, or with show's status where the first call fails.
[[nodiscard]] int watch(double interval_s, const std::function<int()>& show);

}  // namespace perfleet
