// The events of time off the CPU (--off-cpu), whose rows have a weight in ns. Names are perf's if it has one.
//
// Freestanding.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace perfleet::off_cpu {

inline constexpr std::string_view kBlocked = "offcpu-time";     // blocked until woken, by the thread's stack
inline constexpr std::string_view kRunnable = "runqueue-time";  // woken or preempted until it ran, by the same stack
inline constexpr std::string_view kWakers = "wakeup-time";      // as kBlocked, by the waking thread
inline constexpr std::array kEvents{kBlocked, kRunnable, kWakers};

// Whether it is such an event. The number of its rows means nothing: a row may stand for a microsecond or an hour.
[[nodiscard]] constexpr bool is_event(std::string_view name) {
    return std::find(kEvents.begin(), kEvents.end(), name) != kEvents.end();
}

}  // namespace perfleet::off_cpu
