// The two subjects of a comparison, latencies and profiles (diff.h).
#pragma once

#include "query-engine/statistic/diff/diff.h"

namespace perfleet {

// Whether a side has any latencies: single values or accumulated ones.
[[nodiscard]] Result<bool> has_latencies(const Scan& scan);

[[nodiscard]] Result<Answer> make_latency_diff(const Scan& before, const Scan& after, const DiffOptions& options);
[[nodiscard]] Result<Answer> make_profile_diff(const Scan& before, const Scan& after, Symbolizer& symbolizer,
                                               const DiffOptions& options);

}  // namespace perfleet
