// What profiles are counted from at a time: an epoch, or all epochs of a day where a summary may stand for them.
//
// Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/stack/stack_counts.h"

namespace perfleet {

struct EpochTask {
    EpochNumber epoch;
    std::vector<Series> series;  // with rows in it
};

struct CountTask {
    std::size_t session_index = 0;
    std::vector<EpochTask> epochs;  // ascending
    std::optional<Partition> day;   // where a summary of their day stands

    [[nodiscard]] std::vector<Series> series() const;  // of all epochs, ascending
};

// By session and epoch; those without rows in the selection are left out. Errors: those of the store.
[[nodiscard]] Result<std::vector<CountTask>> count_tasks(const Scan& scan, const StackCountOptions& options);

// What the summary says, as of one epoch: its first. Options that it can't follow are those with which count_tasks()
// gives no days. Errors: kInvalid.
[[nodiscard]] Result<EpochStackCounts> counts_of(const DaySummary& summary, std::size_t session_index,
                                                 const StackCountOptions& options);

}  // namespace perfleet
