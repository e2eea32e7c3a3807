// Rows of several tracepoint events of one session, in order of time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/scan/scan.h"

namespace perfleet {

struct TracepointRow {
    std::uint64_t ticks = 0;
    std::size_t event_index = 0;  // into the requested events
    std::uint64_t thread = 0;
    std::uint64_t value = 0;
};

inline constexpr std::size_t kTracepointRowsMax = 1U << 22;

// Suffix of an event whose rows carry durations in ticks of their session (calls of functions, probes): use the time at
// which the measured operation began instead of its end.
inline constexpr std::string_view kEntrySuffix = "%entry";

// By name, or by seL4's id: "3" is the event whose rows have that id. With kEntrySuffix only events that carry
// durations match.
[[nodiscard]] bool is_tracepoint(const ScannedSession& session, Series series, const std::string& event);
[[nodiscard]] bool has_tracepoint(const ScannedSession& session, const std::string& event);

// Rows in the time range, ascending by (ticks, index in `events`). If values have no times (row_clock.h), ticks are the
// row's number in its column. Errors: those of the store; kTooLarge.
[[nodiscard]] Result<std::vector<TracepointRow>> rows_of_tracepoints(const Scan& scan, std::size_t session_index,
                                                                     const std::vector<std::string>& events);

// Times from each start event to the next stop event of the same thread, in the order of the stops.
struct TracepointPairs {
    std::vector<std::uint64_t> durations;  // ticks
    std::vector<std::uint64_t> ends;       // stop's ticks of each pair
    std::vector<std::uint64_t> threads;    // of each pair
    std::uint64_t start_count = 0;
    std::uint64_t stop_count = 0;

    // Which events have no partner, as text; empty if all have one.
    [[nodiscard]] std::string unpaired() const;
};

// `events`: start, stop. Errors: as rows_of_tracepoints().
[[nodiscard]] Result<TracepointPairs> pairs_of_tracepoints(const Scan& scan, std::size_t session_index,
                                                           const std::vector<std::string>& events);

// The unit of the session's ticks: "ns", "cycles", "ticks".
[[nodiscard]] std::string tick_unit(const SessionRecord& session);

}  // namespace perfleet
