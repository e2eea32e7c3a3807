// Adds up counts of epochs whose stacks are in the dictionary of their partition, in one array, so that chains are
// followed and named once for each partition.
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

// Moves tasks whose epochs may be counted together to the end, grouped, and gives the dictionaries of their partitions.
// Keeps the last few dictionaries, and uses only those that are cheaper to read than the definitions of these epochs.
class PartitionDictionaries {
public:
    // Borrows the scan. `may_use` false: uses no dictionary, and tasks keep their order.
    PartitionDictionaries(const Scan& scan, bool may_use, std::vector<CountTask>& tasks);

    // Null if there is none for this task, or it isn't worth reading. Errors: those of the store.
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

// Translates the stacks of an epoch's counts into nodes of its partition's dictionary. False, without changes, if one
// of the stacks isn't in the map.
[[nodiscard]] bool translate(std::span<const std::uint32_t> map, const std::shared_ptr<const PartitionStacks>& stacks,
                             EpochStackCounts& counts);

class PartitionCounts {
public:
    // Borrows the memory. The visitor gets the sums, like that of visit_stack_counts().
    PartitionCounts(QueryMemory& memory, std::size_t array_size_bytes,
                    const std::function<void(EpochStackCounts&)>& visitor)
        : array_size_bytes_{array_size_bytes}, visitor_{visitor}, share_{memory} {}

    // Adds counts that were translated into `stacks`. Sums of another dictionary are visited first.
    void add(const EpochStackCounts& counts, const std::shared_ptr<const PartitionStacks>& stacks);
    // Visits the remaining sums.
    void finish();

private:
    std::size_t array_size_bytes_;
    const std::function<void(EpochStackCounts&)>& visitor_;
    MemoryShare share_;
    std::shared_ptr<const PartitionStacks> stacks_;
    std::optional<RunnerSums> sums_;
    RowTotal total_;
    std::map<Runner, std::uint32_t> runners_;  // numbers, in the order in which they came
    std::size_t session_index_ = 0;            // of the first epoch
    EpochNumber epoch_;
};

}  // namespace perfleet
