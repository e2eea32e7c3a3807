// Counts of epochs whose stacks the dictionary of their partition knows, added up: one array for all of them, so that
// chains are followed and named once a partition.
//
// PartitionDictionaries: any thread. PartitionCounts: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/stack/count_tasks.h"
#include "query-engine/statistic/stack/runner_sums.h"
#include "query-engine/statistic/stack/stack_counts.h"

namespace perfleet {

// Puts the tasks whose epochs may be counted together side by side, behind the others, and hands out dictionaries of
// their partitions: the last few, and only those that cost no more to read than the definitions of these epochs.
class PartitionDictionaries {
public:
    // Borrows the scan. `may_use` false: none is used, and the tasks stay as they are.
    PartitionDictionaries(const Scan& scan, bool may_use, std::vector<CountTask>& tasks);

    // Null where there is none for this task, or it isn't worth it. Errors: those of the store.
    [[nodiscard]] Result<std::shared_ptr<const PartitionStacks>> of(const CountTask& task);

private:
    static constexpr std::size_t kKept = 4;

    struct Group {
        std::uint64_t definition_count = 0;  // of call chains, of all tasks
        std::size_t task_count = 0;
        std::size_t session_index = 0;  // of the first
    };
    struct Known {
        Partition partition;
        std::shared_ptr<const PartitionStacks> stacks;
        MemoryShare share;
    };

    [[nodiscard]] std::optional<Partition> partition_of_task(const CountTask& task) const;

    const Scan& scan_;
    bool may_use_;
    std::map<Partition, Group> groups_;
    std::mutex mutex_;
    std::deque<Known> known_;  // the last used first
};

// The counts of one epoch, told by the nodes of its partition's dictionary. False, and nothing is changed, where one of
// its stacks isn't in the map.
[[nodiscard]] bool translate(std::span<const std::uint32_t> map, const std::shared_ptr<const PartitionStacks>& stacks,
                             EpochStackCounts& counts);

class PartitionCounts {
public:
    // Borrows the memory. As visit_stack_counts(): what is visited are the sums.
    PartitionCounts(QueryMemory& memory, std::size_t array_size_bytes,
                    const std::function<void(const EpochStackCounts&)>& visitor)
        : array_size_bytes_{array_size_bytes}, visitor_{visitor}, share_{memory} {}

    // Counts that were translated into `stacks`. Those of another dictionary are visited first.
    void add(const EpochStackCounts& counts, const std::shared_ptr<const PartitionStacks>& stacks);
    // Visits what was added.
    void finish();

private:
    std::size_t array_size_bytes_;
    const std::function<void(const EpochStackCounts&)>& visitor_;
    MemoryShare share_;
    std::shared_ptr<const PartitionStacks> stacks_;
    std::optional<RunnerSums> sums_;
    std::map<Runner, std::uint32_t> runners_;  // numbers, in the order in which they came
    std::size_t session_index_ = 0;            // of the first epoch
    EpochNumber epoch_;
};

}  // namespace perfleet
