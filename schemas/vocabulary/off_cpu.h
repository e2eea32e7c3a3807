// The events of time off the CPU (--off-cpu), whose rows weigh nanoseconds. Names are perf's where it has one.
//
// Freestanding.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace perfleet::off_cpu {

inline constexpr std::string_view kBlocked = "offcpu-time";     // blocked, until it was woken, by the thread's stack
inline constexpr std::string_view kRunnable = "runqueue-time";  // woken or preempted, until it ran, by the same stack
inline constexpr std::string_view kWakers = "wakeup-time";      // as kBlocked, by who woke the thread
inline constexpr std::array kEvents{kBlocked, kRunnable, kWakers};

// A count of its rows says nothing: one may stand for a microsecond or an hour.
[[nodiscard]] constexpr bool is_event(std::string_view name) {
    return std::find(kEvents.begin(), kEvents.end(), name) != kEvents.end();
}

}  // namespace perfleet::off_cpu
