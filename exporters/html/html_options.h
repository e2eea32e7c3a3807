// The options of `perfleet flamegraph`; `export --to html` uses their defaults.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/option/option.h"
#include "query-engine/statistic/profile/operations.h"

namespace perfleet {

inline constexpr std::uint64_t kHtmlSlices = 100;
inline constexpr std::uint64_t kHtmlSlicesMax = 1'000;

struct HtmlOptions {
    std::string before;  // a side as in `diff`; empty: no comparison
    std::string title;
    std::uint64_t slice_count = kHtmlSlices;  // 0: no strip of time and no intervals
    bool each_address = false;
    bool has_inlines = false;
    std::string format = "html";  // svg, png: a figure of all time, without a comparison
    bool is_within_run = false;   // as DiffOptions::within_run
    SlowestOptions slowest;       // set: the page compares the slowest operations with the others
};

// The options before, title, slices, addresses, inlines, slowest, of, as.
[[nodiscard]] const OptionTable<HtmlOptions>& html_options();

}  // namespace perfleet
