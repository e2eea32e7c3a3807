#include "query-engine/statistic/stack/partition_counts.h"

#include <algorithm>
#include <utility>

#include "query-engine/statistic/stack/count_order.h"

namespace perfleet {
namespace {

std::uint64_t definition_count_of(const ScannedSession& session, EpochNumber epoch) {
    std::uint64_t count = 0;
    for (const auto& [first, last] : session.epoch_batches.at(epoch)) {
        for (std::size_t i = first; i < last; ++i) {
            for (const BatchRecord::Rows& rows : session.batches[i].rows) {
                count += rows.series.kind == Kind::kStack ? rows.row_count : 0;
            }
        }
    }
    return count;
}

}  // namespace

PartitionDictionaries::PartitionDictionaries(const Scan& scan, bool may_use, std::vector<CountTask>& tasks)
    : scan_{scan}, may_use_{may_use} {
    if (!may_use_) {
        return;
    }
    std::vector<std::pair<std::optional<Partition>, CountTask>> placed;
    for (CountTask& task : tasks) {
        const std::optional<Partition> partition = partition_of_task(task);
        if (partition) {
            const auto [group, is_new] = groups_.try_emplace(*partition);
            group->second.session_index = is_new ? task.session_index : group->second.session_index;
            group->second.definition_count +=
                definition_count_of(scan_.sessions()[task.session_index], task.epochs.front().epoch);
            ++group->second.task_count;
        }
        placed.emplace_back(partition, std::move(task));
    }
    std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::transform(placed.begin(), placed.end(), tasks.begin(), [](auto& one) { return std::move(one.second); });
}

// All of an epoch lies in the partition of its first batch.
std::optional<Partition> PartitionDictionaries::partition_of_task(const CountTask& task) const {
    if (!may_use_ || task.day || task.epochs.size() != 1) {
        return std::nullopt;
    }
    const ScannedSession& session = scan_.sessions()[task.session_index];
    return session.batch_partitions[session.epoch_batches.at(task.epochs.front().epoch).front().first];
}

Result<std::shared_ptr<const PartitionStacks>> PartitionDictionaries::of(const CountTask& task) {
    const std::optional<Partition> partition = partition_of_task(task);
    if (!partition || groups_.at(*partition).task_count < 2) {
        return std::shared_ptr<const PartitionStacks>{};
    }
    const Group& group = groups_.at(*partition);
    const std::lock_guard lock{mutex_};
    const auto known =
        std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.partition == *partition; });
    if (known != known_.end()) {
        return known->stacks;
    }
    auto stacks = PERFLEET_TRY(scan_.partition_stacks(*partition, group.definition_count, group.session_index));
    MemoryShare share{scan_.memory()};
    share.set(stacks == nullptr ? 0 : stacks->dictionary.size_bytes());
    known_.push_front({*partition, stacks, std::move(share)});
    if (known_.size() > kKept) {
        known_.pop_back();
    }
    return stacks;
}

bool translate(std::span<const std::uint32_t> map, const std::shared_ptr<const PartitionStacks>& stacks,
               EpochStackCounts& counts) {
    const bool has_all = std::all_of(counts.counts.begin(), counts.counts.end(), [&](const StackCount& count) {
        return count.stack == kEmptyStack || (count.stack.value < map.size() && map[count.stack.value] != 0);
    });
    if (!has_all) {
        return false;
    }
    for (StackCount& count : counts.counts) {
        count.stack = count.stack == kEmptyStack ? kEmptyStack : StackNumber{map[count.stack.value]};
    }
    counts.dictionary = std::shared_ptr<const EpochDictionary>{stacks, &stacks->dictionary};
    return true;
}

void PartitionCounts::add(const EpochStackCounts& counts, const std::shared_ptr<const PartitionStacks>& stacks) {
    if (stacks_ != stacks) {
        finish();
        stacks_ = stacks;
        sums_.emplace(array_size_bytes_, stacks->dictionary.stack_count());
        session_index_ = counts.session_index;
        epoch_ = counts.epoch;
    }
    std::vector<std::uint32_t> numbers;
    for (const Runner& runner : counts.runners) {
        numbers.push_back(runners_.try_emplace(runner, static_cast<std::uint32_t>(runners_.size())).first->second);
    }
    for (const StackCount& count : counts.counts) {
        sums_->add(numbers[count.runner_index], count.stack.value, count.sum);
    }
    total_ += counts.total;
    share_.set(sums_->size_bytes() + runners_.size() * (sizeof(Runner) + 64));
}

void PartitionCounts::finish() {
    if (stacks_ == nullptr) {
        return;
    }
    EpochStackCounts sums;
    sums.session_index = session_index_;
    sums.epoch = epoch_;
    sums.total = std::exchange(total_, {});
    sums.dictionary = std::shared_ptr<const EpochDictionary>{stacks_, &stacks_->dictionary};
    std::vector<std::uint32_t> indices(runners_.size());  // by runner number
    for (const auto& [runner, number] : runners_) {
        const auto index = static_cast<std::uint32_t>(sums.runners.size());
        indices[number] = index;
        sums.runners.push_back(runner);
        sums_->for_each(number, [&](std::uint32_t stack, const Sum& sum) {
            sums.counts.push_back({index, StackNumber{stack}, sum});
        });
    }
    const std::size_t others_begin = sums.counts.size();
    sums_->others().for_each([&](std::uint64_t key, const Sum& sum) {
        sums.counts.push_back({indices[key >> 32U], StackNumber{static_cast<std::uint32_t>(key & 0xffff'ffffU)}, sum});
    });
    sort_from(others_begin, sums.counts);
    sum_equal_pairs(sums.counts);
    sums_.reset();
    runners_.clear();
    stacks_.reset();
    share_.set(sums.counts.capacity() * sizeof(StackCount));
    visitor_(sums);
    share_.set(0);
}

}  // namespace perfleet
