// Parsers of option values that several commands share.
//
// Pure functions over untrusted text. Errors: kUsage, which names the option and quotes the text.
#pragma once

#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/statistic/number/quantile.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// A percentage in (0, 100) as a fraction; parsed from its digits, so that 90 is exactly 0.90.
[[nodiscard]] Result<long double> parse_fraction_option(const std::string& name, const std::string& text);

// "50,99.9": at most 32.
[[nodiscard]] Result<std::vector<Quantile>> parse_percentiles_option(const std::string& name, const std::string& text);

// "START,STOP", two events of --pair (tracepoint_rows.h).
[[nodiscard]] Result<std::vector<std::string>> parse_pair_option(const std::string& text);

}  // namespace perfleet
