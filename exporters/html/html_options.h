// The options of the page: of `perfleet flamegraph`, and of `export --to html` as it is without any.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/option/option.h"
#include "query-engine/statistic/profile/operations.h"

namespace perfleet {

inline constexpr std::uint64_t kHtmlSlices = 100;
inline constexpr std::uint64_t kHtmlSlicesMax = 1'000;

struct HtmlOptions {
    std::string before;  // a side as those of `diff`; empty: nothing is compared
    std::string title;
    std::uint64_t slice_count = kHtmlSlices;  // 0: no strip of time, no intervals
    bool each_address = false;
    bool has_inlines = false;
    bool sum_weights = false;
    SlowestOptions slowest;  // given: the page is of the slowest operations, compared with the others
};

// before, title, slices, addresses, inlines, weight, slowest, of.
[[nodiscard]] const OptionTable<HtmlOptions>& html_options();

}  // namespace perfleet
