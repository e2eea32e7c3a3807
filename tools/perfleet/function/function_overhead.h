// What a pair of probes of a function costs on this machine: measured on functions of this process, in a child of it.
#pragma once

#include <optional>

#include "schemas/vocabulary/probe_overhead.h"

namespace perfleet {

// How a function is probed, as far as it decides what that costs.
struct ProbedWay {
    bool is_stepped_over = false;  // its first instruction: the kernel emulates few
    bool has_exits = false;        // probes where it ends; else the kernel catches its return

    friend auto operator<=>(const ProbedWay&, const ProbedWay&) = default;
};

// Medians over a few hundred calls. Nothing where it can't be measured (another machine, no rights).
[[nodiscard]] std::optional<ProbeOverhead> measure_function_overhead(ProbedWay way);

}  // namespace perfleet
