// `tree`: the call tree by samples, from the outermost frame inwards with commands on the first level; or inverted,
// from the innermost frame to its callers.
//
// Rows in pre-order, siblings descending by total, then ascending by text; `depth` is 0 for a command, or for an
// innermost function. A branch has the measure of its own samples (self) and the total with those below it.
#pragma once

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct TreeOptions {
    bool each_address = false;  // each address without a symbol is a branch
    bool is_inverted = false;   // innermost functions on the first level, callers below
    bool has_inlines = false;   // inlined functions are branches (source_expansion.h)
    double percent_min = 0.0;   // branches below this percentage of the whole are omitted
};

// The options min-percent, addresses, inverted, inlines.
[[nodiscard]] const OptionTable<TreeOptions>& tree_options();

[[nodiscard]] Result<Answer> make_tree(const Scan& scan, Symbolizer& symbolizer, const TreeOptions& options);

}  // namespace perfleet
