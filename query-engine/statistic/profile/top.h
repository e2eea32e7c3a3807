// `top`: which symbols, images, commands or threads the samples fell on.
//
// Self counts the samples whose innermost frame is in the group, children those with a frame of it anywhere in their
// call chain, each sample once. Rows: descending by self, then children, then ascending by their texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/profile/operations.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct TopOptions {
    // What rows are told apart by. Columns of symbol, image and command always stand there and hold null where they
    // aren't asked for.
    bool by_symbol = true;
    bool by_line = false;  // the source line that samples fell on, from debug information
    bool by_image = true;
    bool by_command = true;
    bool by_thread = false;  // command, process and thread id
    bool by_cpu = false;
    bool by_cgroup = false;  // the process's: its path, and what that tells (select/cgroup_path.h)
    bool by_container = false;
    bool by_pod = false;
    bool by_unit = false;
    bool each_address = false;  // addresses that no symbol covers are rows of their own
    bool has_inlines = false;   // inlined functions are frames of their own (source_expansion.h)
    std::string callers_of;     // not empty: a row a caller of this function (callers.h)
    bool sum_weights = false;   // sums of the event's unit, not numbers of samples
    bool self_only = false;     // rows without what their callees took
    double percent_min = 0;     // of a row's children, or of its self where it has these alone
    std::optional<std::uint64_t> row_count_max;
    SlowestOptions slowest;  // given: instead, what the slowest operations do otherwise (slowest.h)

    [[nodiscard]] bool needs_cgroups() const { return by_cgroup || by_container || by_pod || by_unit; }
};

// by, callers, addresses, lines, inlines, no-children, min-percent, limit, weight, slowest, of.
[[nodiscard]] const OptionTable<TopOptions>& top_options();

[[nodiscard]] Result<Answer> make_top(const Scan& scan, Symbolizer& symbolizer, const TopOptions& options);

}  // namespace perfleet
