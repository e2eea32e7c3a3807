// `tracepoints`: hits, measured values, and the overhead of measuring.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/latency/tracepoint_pairs.h"

namespace perfleet {

enum class TracepointView : std::uint8_t {
    kHits,       // a row a session and event: rows in the time range, their weight, the first and the last; of events
                 // that carry a value also count, min, median, p99, max, mean, sd
    kCombined,   // paths measured in parts, added up
    kOverhead,   // overhead of a START and STOP pair, from nested empty pairs
    kCorrected,  // values without that overhead
};

// Events are given by name or by seL4's id.
struct TracepointOptions {
    TracepointView view = TracepointView::kHits;
    std::string view_option;                   // the option that chose the view; empty: none
    std::vector<std::string> events;           // combined: parts, the first one starts a path; overhead: inner, outer
    std::vector<std::string> inner;            // corrected: events whose entries lie inside the corrected ones
    std::optional<std::uint64_t> inner_pairs;  // … or the number of inner pairs of each entry
    PairOverhead overhead;                     // corrected: overhead of a pair
    bool is_legacy = false;                    // overhead: by the rules of sel4bench before 2026
};

// The options combine, overhead, mode, correct, inner, inner-pairs.
[[nodiscard]] const OptionTable<TracepointOptions>& tracepoint_options();

// Errors: kUsage (an event that no session has), kTooLarge (more than 4,194,304 rows if their order matters).
[[nodiscard]] Result<Answer> make_tracepoints(const Scan& scan, const TracepointOptions& options);

}  // namespace perfleet
