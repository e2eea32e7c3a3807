// The cost of a pair of probes on a target, as its collector measured it at the beginning of the session. Sent as text,
// as the format of their events.
//
//   perfleet-probe 1
//   effective_ns 20.5        included in each value
//   total_ns 50              added to the time around each pair
//
// Not freestanding.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace perfleet {

struct ProbeOverhead {
    double effective_ns = 0;
    double total_ns = 0;
};

[[nodiscard]] inline std::string format_probe_overhead(const ProbeOverhead& overhead) {
    char text[128];
    std::snprintf(text, sizeof text, "perfleet-probe 1\neffective_ns %.1f\ntotal_ns %.1f\n", overhead.effective_ns,
                  overhead.total_ns);
    return text;
}

// Nothing for the format of another event. The text is untrusted.
[[nodiscard]] inline std::optional<ProbeOverhead> parse_probe_overhead(std::string_view text_untrusted) {
    constexpr double kNsMax = 1e9;
    ProbeOverhead overhead;
    const std::string text{text_untrusted.substr(0, 128)};
    if (std::sscanf(text.c_str(), "perfleet-probe 1\neffective_ns %15lf\ntotal_ns %15lf", &overhead.effective_ns,
                    &overhead.total_ns) != 2 ||
        !(overhead.effective_ns >= 0 && overhead.effective_ns <= kNsMax) ||
        !(overhead.total_ns >= 0 && overhead.total_ns <= kNsMax)) {
        return std::nullopt;
    }
    return overhead;
}

// "each value of a probe contains 20.5 ns of …"
[[nodiscard]] inline std::string probe_overhead_text(const ProbeOverhead& overhead) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "probes: each value contains %.1f ns of its own pair (effective overhead), and %.1f ns for each pair "
                  "inside (total overhead): tracepoints --correct %.1f,%.1f takes them off",
                  overhead.effective_ns, overhead.total_ns, overhead.effective_ns, overhead.total_ns);
    return text;
}

}  // namespace perfleet
