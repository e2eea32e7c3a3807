// Measures the overhead of a function's pair of probes on this machine, with functions of this process in a child of
// it.
#pragma once

#include <optional>

#include "schemas/vocabulary/probe_overhead.h"

namespace perfleet {

// The kind of probes, as far as it decides their cost.
struct ProbedWay {
    bool is_stepped_over = false;  // the kernel single-steps the first instruction, because it emulates few
    bool has_exits = false;        // probes at its exits; else a uretprobe

    friend auto operator<=>(const ProbedWay&, const ProbedWay&) = default;
};

// Medians over a few hundred calls. Nothing if it can't be measured (other architecture, no permission).
[[nodiscard]] std::optional<ProbeOverhead> measure_function_overhead(ProbedWay way);

}  // namespace perfleet
