// `tree`: who called whom, by samples: from the outermost frame in, the first level are the commands; or inverted, from
// the innermost frame out to its callers.
//
// Rows in pre-order, siblings descending by total, then ascending by their texts; `depth` counts from 0 at a command,
// or at an innermost function. A branch is its own samples (self) and those of the branches below it.
#pragma once

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct TreeOptions {
    bool each_address = false;  // addresses that no symbol covers are branches of their own
    bool is_inverted = false;   // the first level are innermost functions, below each its callers
    bool has_inlines = false;   // inlined functions are branches, too (source_expansion.h)
    bool sum_weights = false;   // sums of the event's unit, not numbers of samples
    double percent_min = 0.0;   // branches below this share of the whole are left out
};

// min-percent, addresses, inverted, inlines, weight.
[[nodiscard]] const OptionTable<TreeOptions>& tree_options();

[[nodiscard]] Result<Answer> make_tree(const Scan& scan, Symbolizer& symbolizer, const TreeOptions& options);

}  // namespace perfleet
