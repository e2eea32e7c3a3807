// Counts call chains by thread name (and slice of time, if requested): the input of profiles (top, tree, folded
// stacks).
//
// Sums have two numbers: the amount of the measure, and rows. They don't depend on the number of threads, the batching,
// the order of delivery, or the use of summaries: a summary replaces exactly the rows that aren't read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/number/sum.h"
#include "query-engine/statistic/session/measure.h"

namespace perfleet {

inline constexpr std::int64_t kNsPerMinute = 60 * kNsPerSecond;

struct StackCountOptions {
    bool per_thread = false;   // set Runner::pid and tid
    bool per_cgroup = false;   // set Runner::cgroup
    bool per_cpu = false;      // set Runner::cpu
    bool per_session = false;  // no counts of several sessions together
    // Ascending ticks of a session at which slices of time begin; sets Runner::slice. Empty: all is slice 0.
    std::function<std::vector<Ticks>(std::size_t session_index)> cuts = nullptr;
    std::size_t array_size_bytes_max = 64U << 20;  // of arrays; beyond this, hash tables without a limit of their own
};

// The thread or group whose rows are counted.
struct Runner {
    std::string command;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t slice = 0;
    std::string cgroup = {};  // path; empty: unknown
    std::uint32_t cpu = 0;

    friend auto operator<=>(const Runner&, const Runner&) = default;
};

struct StackCount {
    std::uint32_t runner_index = 0;
    StackNumber stack;
    Sum sum;
};

// Counts of one epoch, or of a session's day; or, without cuts and per_session, of all epochs of a partition whose
// stacks are in its dictionary: then session and epoch are those of the first.
struct EpochStackCounts {
    std::size_t session_index = 0;
    EpochNumber epoch;
    std::size_t part = 0;  // of Measure::parts
    RowTotal total;        // of `counts`
    std::shared_ptr<const EpochDictionary> dictionary;
    std::vector<Runner> runners;     // ascending
    std::vector<StackCount> counts;  // ascending by (runner, stack); each pair once
};

// The nodes of a call chain from the innermost frame outwards, at most limits::kStackChainMax; kEmptyStack alone for a
// chain without frames.
void chain_of(const EpochDictionary& dictionary, StackNumber stack, std::vector<StackNumber>& chain);

// The outermost frame of a runner's chains: its command, with the name of the measure's part if there are several
// ("work [runnable]").
[[nodiscard]] std::string root_name(const Measure& measure, const EpochStackCounts& counts, const Runner& runner);

// Visits the counts of each part of the measure, by epoch or of several together. Epochs without selected rows are left
// out. Errors: kTooLarge: amounts that add up to 2^63 or more, the query's memory; those of the store.
[[nodiscard]] Result<Done> visit_stack_counts(const Scan& scan, const Measure& measure,
                                              const StackCountOptions& options,
                                              const std::function<void(const EpochStackCounts&)>& visitor);

}  // namespace perfleet
