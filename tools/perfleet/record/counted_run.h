// Runs a program once, counts its events and measures its times: used by `stat` and `compare`.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/event/event_spec.h"
#include "target-collector/source/linux/opening/event_counts.h"

namespace perfleet {

inline constexpr std::array<const char*, 3> kRunTimes{"elapsed", "user", "system"};

struct CountedRun {
    std::vector<std::optional<EventCount>> counts;  // of each event
    std::vector<std::optional<Error>> refused;      // why an event has no count
    std::array<std::uint64_t, kRunTimes.size()> times_ns{};
    int exit_status = 0;
    int signal = 0;  // the signal that ended this program's command and ends this one, too; 0: none
};

// The events of these spellings (perf's defaults if there is none). Errors: those of parse_events().
struct CountedEvents {
    std::vector<EventSpec> events;
    std::string warning;  // empty: this user may count all of them
};
[[nodiscard]] Result<CountedEvents> counted_events(const std::vector<std::string>& spellings);

// What to count instead of the program, and how often to report meanwhile.
struct CountedScope {
    bool all_cpus = false;
    std::vector<std::uint32_t> pids{};
    std::optional<std::chrono::nanoseconds> duration{};  // of a run without a program
    std::uint32_t interval_ms = 0;                       // between calls of `visit`; 0: none
    // Called after each interval, and for the last part of one: counts so far; of the times only `elapsed`.
    std::function<void(const CountedRun& run_so_far)> visit{};
};

// Waits until the program ends; signals go to the program (CommandStop). Without a command: until Ctrl-C (or SIGTERM),
// until all processes have ended, or until the duration is over. Errors: those of starting it and of
// EventCounts::open().
[[nodiscard]] Result<CountedRun> run_counted(const std::vector<std::string>& command, std::span<const EventSpec> events,
                                             const CountedScope& scope = {});

}  // namespace perfleet
