// Counts call chains by thread name (and slice of time, if requested): the input of profiles (top, tree, folded
// stacks).
//
// Counts are sums, so they don't depend on the number of threads, the batching, the order of delivery, or the use of
// summaries: a summary replaces exactly the rows that aren't read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "query-engine/scan/scan.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/dictionary/thread_names.h"

namespace perfleet {

inline constexpr std::int64_t kNsPerMinute = 60 * kNsPerSecond;

struct StackCountOptions {
    std::string event;
    bool sum_weights = false;  // else count rows
    bool per_thread = false;   // set Runner::pid and tid
    bool per_cgroup = false;   // set Runner::cgroup
    bool per_cpu = false;      // set Runner::cpu
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
    std::uint64_t value = 0;
};

// Counts of one epoch; or, without cuts, of all epochs of a partition whose stacks are in its dictionary: then session
// and epoch are those of the first.
struct EpochStackCounts {
    std::size_t session_index = 0;
    EpochNumber epoch;
    std::shared_ptr<const EpochDictionary> dictionary;
    std::vector<Runner> runners;     // ascending
    std::vector<StackCount> counts;  // ascending by (runner, stack); each pair once
};

// The nodes of a call chain from the innermost frame outwards, at most limits::kStackChainMax; kEmptyStack alone for a
// chain without frames.
void chain_of(const EpochDictionary& dictionary, StackNumber stack, std::vector<StackNumber>& chain);

// Visits the counts of each epoch, or of several together. Epochs without selected rows are left out.
[[nodiscard]] Result<Done> visit_stack_counts(const Scan& scan, const StackCountOptions& options,
                                              const std::function<void(const EpochStackCounts&)>& visitor);

}  // namespace perfleet
