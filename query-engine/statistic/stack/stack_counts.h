// How often each call chain was seen, by thread name (and slice of time, when asked): what profiles (top, tree, folded
// stacks) are made from.
//
// Counts are sums, so they don't depend on the number of threads, the batching or the order of delivery, nor on whether
// they come from summaries: those stand for exactly the rows that aren't read then.
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
    bool sum_weights = false;  // else rows
    bool per_thread = false;   // Runner::pid and tid are told
    bool per_cgroup = false;   // Runner::cgroup is told
    bool per_cpu = false;      // Runner::cpu is told
    // Ascending ticks of a session at which a new slice of time begins: Runner::slice is told. Empty: all is slice 0.
    std::function<std::vector<Ticks>(std::size_t session_index)> cuts = nullptr;
    std::size_t array_size_bytes_max = 64U << 20;  // of arrays to count in; beyond, hash tables as great as needed
};

// Whom rows are counted for.
struct Runner {
    std::string command;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t slice = 0;
    std::string cgroup = {};  // its path; empty: not known
    std::uint32_t cpu = 0;

    friend auto operator<=>(const Runner&, const Runner&) = default;
};

struct StackCount {
    std::uint32_t runner_index = 0;
    StackNumber stack;
    std::uint64_t value = 0;
};

// Of one epoch; or, without cuts, of all of a partition whose stacks its dictionary knows, as of the first of them.
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

// Epoch by epoch, or several together; those without a row in the selection are left out. Rows outside the time range
// are not counted.
[[nodiscard]] Result<Done> visit_stack_counts(const Scan& scan, const StackCountOptions& options,
                                              const std::function<void(const EpochStackCounts&)>& visitor);

}  // namespace perfleet
