// `top`: samples by symbol, image, command or thread.
//
// Self is the measure of samples whose innermost frame is in the group; children of those with any frame of it in their
// call chain, each sample once. Rows: descending by the absolute value of self, then of children, then ascending by
// text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/profile/operations.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

struct TopOptions {
    // How rows are grouped. The columns symbol, image and command always exist and are null if they don't group rows.
    bool by_symbol = true;
    bool by_line = false;  // the source line that samples fell on, from debug information
    bool by_image = true;
    bool by_command = true;
    bool by_thread = false;  // command, process and thread id
    bool by_cpu = false;
    bool by_cgroup = false;  // of the process: path and its parts (select/cgroup_path.h)
    bool by_container = false;
    bool by_pod = false;
    bool by_unit = false;
    std::vector<std::string> labels;  // of sessions; also target, arch and session (storage/select/matcher.h)
    bool each_address = false;        // each address without a symbol is a row
    bool has_inlines = false;         // inlined functions are frames (source_expansion.h)
    std::string callers_of;           // not empty: rows are callers of this function
    bool self_only = false;           // without counts of callees
    double percent_min = 0;           // of a row's children, or of its self with self_only
    std::optional<std::uint64_t> row_count_max;
    SlowestOptions slowest;  // set: compare the slowest operations instead (slowest.h)

    [[nodiscard]] bool needs_cgroups() const { return by_cgroup || by_container || by_pod || by_unit; }
};

// The options by, callers, addresses, lines, inlines, no-children, min-percent, limit, slowest, of.
[[nodiscard]] const OptionTable<TopOptions>& top_options();

[[nodiscard]] Result<Answer> make_top(const Scan& scan, Symbolizer& symbolizer, const TopOptions& options);

}  // namespace perfleet
