// The table of a live profile and the line above it, the same in the interactive view and off a terminal.
#pragma once

#include <optional>
#include <string>

#include "daemon/option/option.h"
#include "query-engine/statistic/answer/answer.h"
#include "tools/perfleet/live/live_profile.h"

namespace perfleet {

struct LiveOptions {
    CollectorOptions collector;
    OptionValues values;  // of the query `top`
    SymbolPaths paths;
    std::uint64_t memory_size_bytes = LiveStore::kSizeBytesDefault;
    double period_s = 2;
    bool is_total = false;  // of all rows since the start, not of the last period
    bool shows_idle = false;

    [[nodiscard]] std::int64_t period_ns() const { return static_cast<std::int64_t>(period_s * 1e9); }
};

// `values` without the idle task, unless it is shown or threads are chosen.
[[nodiscard]] OptionValues live_values(const LiveOptions& options);

// "1998 samples of cpu-clock in 2.0 s; 12 lost; idle 87.2 %, hidden".
[[nodiscard]] std::string live_head(LiveProfile& profile, const LiveOptions& options, const LiveProfile::Range& range,
                                    const Answer& answer);

}  // namespace perfleet
