// The options of `diff`: before and after (both required), of, by, percentiles, confidence, fail-if, limit; and those
// of every command.
//
// Each side is up to three words: matchers `{version="2"}`, a session (first digits of its id, last, last~1), a time
// range FROM..TO with either end optional. select, session, from and until apply to both sides.
#pragma once

#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/statistic/diff/diff.h"

namespace perfleet {

// The options' values as given; parse_diff() turns them into a query.
struct DiffRequest {
    std::string before;
    std::string after;
    std::vector<Quantile> percentiles;
    DiffOptions options;
};

[[nodiscard]] const OptionTable<DiffRequest>& diff_options();

// One side's selection: `common`, narrowed by the text. Errors: kUsage names the option.
[[nodiscard]] Result<Selection> parse_diff_side(const std::string& option, const std::string& text_untrusted,
                                                const Selection& common, UtcNs now);

struct DiffQuestion {
    Selection before;
    Selection after;
    DiffOptions options;
};
// Ignores other options. Errors: kUsage names the option.
[[nodiscard]] Result<DiffQuestion> parse_diff(const OptionValues& values, const Selection& common, UtcNs now);

}  // namespace perfleet
