// The units of work of counting: an epoch, or all epochs of a day if a summary may replace them.
//
// Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/stack/stack_counts.h"

namespace perfleet {

// How the rows of one event are counted.
struct PartCount : StackCountOptions {
    std::string event;
    bool is_amount = false;  // else each row has the weight 1
};

struct EpochTask {
    EpochNumber epoch;
    std::vector<Series> series;  // with rows in it
};

struct CountTask {
    std::size_t session_index = 0;
    std::vector<EpochTask> epochs;  // ascending
    std::optional<Partition> day;   // set if a summary of their day may exist

    [[nodiscard]] std::vector<Series> series() const;  // of all epochs, ascending
};

// The tasks by session and epoch, without epochs that have no selected rows. Errors: those of the store.
[[nodiscard]] Result<std::vector<CountTask>> count_tasks(const Scan& scan, const PartCount& options);

// The summary's counts, as if of its first epoch. count_tasks() gives no days for options that it can't follow. Errors:
// kInvalid.
[[nodiscard]] Result<EpochStackCounts> counts_of(const DaySummary& summary, std::size_t session_index,
                                                 const PartCount& options);

}  // namespace perfleet
