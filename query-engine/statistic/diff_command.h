// The options of `diff` as text: before and after (both needed), of (latency or profile), by (labels, with commas),
// percentiles ("90,99.9"), confidence (percent), fail-if, limit; and those that every command has.
//
// A side is up to three words: matchers `{version="2"}`, a session (first digits of its id, last, last~1), a range of
// time FROM..TO of which either may be left out. select, session, from and to hold for both sides.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "query-engine/statistic/diff.h"

namespace perfleet {

[[nodiscard]] bool is_diff_option(std::string_view name);

// One side's selection: `common` and what the text adds. Errors: kUsage names the option.
[[nodiscard]] Result<Selection> parse_diff_side(const std::string& option, const std::string& text_untrusted,
                                                const Selection& common, UtcNs now);

struct DiffQuestion {
    Selection before;
    Selection after;
    DiffOptions options;
};
// Other options are passed over. Errors: kUsage names the option.
[[nodiscard]] Result<DiffQuestion> parse_diff(const std::map<std::string, std::string>& options,
                                              const Selection& common, UtcNs now);

}  // namespace perfleet
