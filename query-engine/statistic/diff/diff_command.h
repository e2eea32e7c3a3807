// The options of `diff`: before and after (both needed), of, by, percentiles, confidence, fail-if, limit; and those
// that every command has.
//
// A side is up to three words: matchers `{version="2"}`, a session (first digits of its id, last, last~1), a range of
// time FROM..TO of which either may be left out. select, session, from and until hold for both sides.
#pragma once

#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/statistic/diff/diff.h"

namespace perfleet {

// As they are given; parse_diff() makes a query of them.
struct DiffRequest {
    std::string before;
    std::string after;
    std::vector<Quantile> percentiles;
    DiffOptions options;
};

[[nodiscard]] const OptionTable<DiffRequest>& diff_options();

// One side's selection: `common` and what the text adds. Errors: kUsage names the option.
[[nodiscard]] Result<Selection> parse_diff_side(const std::string& option, const std::string& text_untrusted,
                                                const Selection& common, UtcNs now);

struct DiffQuestion {
    Selection before;
    Selection after;
    DiffOptions options;
};
// Other options are passed over. Errors: kUsage names the option.
[[nodiscard]] Result<DiffQuestion> parse_diff(const OptionValues& values, const Selection& common, UtcNs now);

}  // namespace perfleet
