// Runs a command periodically until Ctrl-C, like watch(1).
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

namespace perfleet {

inline constexpr const char* kClearScreen = "\033[H\033[2J";

// From now on these signals make the returned descriptor, always the same one, readable; a second signal during
// shutdown has no effect. A SIGHUP that nohup ignores stays ignored.
[[nodiscard]] int catch_stop_signals(std::initializer_list<int> signals = {SIGINT, SIGTERM});
// The first of them that came; 0: none.
[[nodiscard]] int first_stop_signal();

// Whether any of these processes is still running.
[[nodiscard]] bool any_runs(const std::vector<std::uint32_t>& pids);

// Calls `show` every `interval_s` seconds. On a terminal each output replaces the previous one, else a blank line
// separates them. Returns 0 on SIGINT or SIGTERM, or show's status if the first call fails.
[[nodiscard]] int watch(double interval_s, const std::function<int()>& show);

}  // namespace perfleet
