// Conditions under which a comparison fails: `--fail-if 'p99 > 5%'`.
//
//   condition   FIGURE[(NAME)] > LIMIT%   or <; several with commas: the comparison fails when any of them holds
//   FIGURE      of latencies mean, median, p99.9, max; of profiles self, children
//   NAME        of the event or the function; without it the condition is about all of them
//   LIMIT       latencies: change in percent of the value before; profiles: change of the share in percentage points
//
// Untrusted text; plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

struct FailCondition {
    std::string text;       // as it was written
    std::string figure;     // "mean", "median", "p99.9", "max", "self", "children"
    std::string name;       // empty: any
    bool is_above = true;   // else it holds below the limit
    long double limit = 0;  // a fraction
};

inline constexpr std::size_t kFailConditionsMax = 64;

// Errors: kUsage, which quotes the condition and says what was expected.
[[nodiscard]] Result<std::vector<FailCondition>> parse_fail_conditions(std::string_view text_untrusted);

}  // namespace perfleet
