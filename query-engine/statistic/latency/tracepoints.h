// `tracepoints`: how often they were hit, what they measured, and what of that is the measuring itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/latency/tracepoint_pairs.h"

namespace perfleet {

enum class TracepointView : std::uint8_t {
    kHits,       // a row a session and event: rows in the time range, their weight, the first and the last; of events
                 // that carry a value also count, min, median, p99, max, mean, sd
    kCombined,   // paths that were measured in parts, as one
    kOverhead,   // what a START and STOP pair costs, from nested empty pairs
    kCorrected,  // values without that
};

// Events are named by their name, or by seL4's id.
struct TracepointOptions {
    TracepointView view = TracepointView::kHits;
    std::string view_option;                   // that chose it; empty: none
    std::vector<std::string> events;           // combined: parts, the beginning first; overhead: inner, outer
    std::vector<std::string> inner;            // corrected: events whose entries lie inside the corrected ones
    std::optional<std::uint64_t> inner_pairs;  // … or how many each has
    PairOverhead overhead;                     // corrected: what a pair costs
    bool is_legacy = false;                    // overhead: by the rules of sel4bench before 2026
};

// combine, overhead, mode, correct, inner, inner-pairs.
[[nodiscard]] const OptionTable<TracepointOptions>& tracepoint_options();

// Errors: kUsage (an event that is in no session), kTooLarge (more than 4,194,304 rows where their order matters).
[[nodiscard]] Result<Answer> make_tracepoints(const Scan& scan, const TracepointOptions& options);

}  // namespace perfleet
