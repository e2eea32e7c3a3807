// Rows of several tracepoint events of one session, in the order of their clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/scan/scan.h"

namespace perfleet {

struct TracepointRow {
    std::uint64_t ticks = 0;
    std::size_t event_index = 0;  // into the events asked for
    std::uint64_t thread = 0;
    std::uint64_t value = 0;
};

inline constexpr std::size_t kTracepointRowsMax = 1U << 22;

// Behind an event whose rows carry durations in ticks of their session (calls of functions, probes): the moment when
// what was measured began, instead of that of its end.
inline constexpr std::string_view kEntrySuffix = "%entry";

// By name, or by seL4's id: "3" is the event whose rows have it. With kEntrySuffix only those that carry durations.
[[nodiscard]] bool is_tracepoint(const ScannedSession& session, Series series, const std::string& event);
[[nodiscard]] bool has_tracepoint(const ScannedSession& session, const std::string& event);

// Those in the time range, ascending by (ticks, place among `events`). Of values that came without times (row_clock.h)
// ticks are the number of the row in its column. Errors: those of the store; kTooLarge.
[[nodiscard]] Result<std::vector<TracepointRow>> rows_of_tracepoints(const Scan& scan, std::size_t session_index,
                                                                     const std::vector<std::string>& events);

// Times from each start event to the next stop event of the same thread, in the order of the stops.
struct TracepointPairs {
    std::vector<std::uint64_t> durations;  // ticks
    std::vector<std::uint64_t> ends;       // of each, its stop's ticks
    std::vector<std::uint64_t> threads;    // of each
    std::uint64_t start_count = 0;
    std::uint64_t stop_count = 0;

    // Which of them have no partner; empty: all have one.
    [[nodiscard]] std::string unpaired() const;
};

// `events`: start, stop. Errors: as rows_of_tracepoints().
[[nodiscard]] Result<TracepointPairs> pairs_of_tracepoints(const Scan& scan, std::size_t session_index,
                                                           const std::vector<std::string>& events);

// What the session's ticks are: "ns", "cycles", "ticks".
[[nodiscard]] std::string tick_unit(const SessionRecord& session);

}  // namespace perfleet
