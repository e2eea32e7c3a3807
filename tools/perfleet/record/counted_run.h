// One run of a program with its events counted and its times taken: what `stat` and `compare` are made of.
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
    std::vector<std::optional<Error>> refused;      // why an event has none
    std::array<std::uint64_t, kRunTimes.size()> times_ns{};
    int exit_status = 0;
};

// What is counted of these spellings (of those that perf counts where there is none). Errors: those of parse_events().
struct CountedEvents {
    std::vector<EventSpec> events;
    std::string warning;  // empty: this user may count all that was asked for
};
[[nodiscard]] Result<CountedEvents> counted_events(const std::vector<std::string>& spellings);

// What is counted, instead of the program, while it runs; and who is told meanwhile.
struct CountedScope {
    bool all_cpus = false;
    std::vector<std::uint32_t> pids{};
    std::optional<std::chrono::nanoseconds> duration{};  // of a run without a program
    std::uint32_t interval_ms = 0;                       // 0: nobody
    // After each interval, and at the end with what is left of one: what was counted up to then, `elapsed` among the
    // times alone.
    std::function<void(const CountedRun& run_so_far)> visit{};
};

// Waits for its end. Ctrl-C is the program's. Without a command: until Ctrl-C (or SIGTERM), until none of the
// processes runs any more, or until the duration is over. Errors: those of starting it and of EventCounts::open().
[[nodiscard]] Result<CountedRun> run_counted(const std::vector<std::string>& command, std::span<const EventSpec> events,
                                             const CountedScope& scope = {});

}  // namespace perfleet
