#include "query-engine/statistic/stack/count_tasks.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "query-engine/statistic/session/measure.h"

namespace perfleet {
namespace {

// An epoch lies in one partition: that of its first batch.
Partition partition_of_epoch(const ScannedSession& session, EpochNumber epoch) {
    return session.batch_partitions[session.epoch_batches.at(epoch).front().first];
}

// The session's last partition of the day.
Partition last_of_day(const ScannedSession& session, std::uint32_t day) {
    const auto behind = std::find_if(session.partitions.begin(), session.partitions.end(),
                                     [&](const Partition& one) { return day_of(one.bucket) > day; });
    return *std::prev(behind);
}

std::vector<EpochTask> epoch_tasks(const Scan& scan, std::size_t session_index, const std::string& event) {
    std::vector<EpochTask> tasks;
    const std::vector<Series> all = event_series(scan.sessions()[session_index], event);
    for (const EpochNumber epoch : scan.sessions()[session_index].epochs) {
        EpochTask task{epoch, {}};
        std::copy_if(all.begin(), all.end(), std::back_inserter(task.series),
                     [&](Series one) { return scan.has_rows(session_index, epoch, one); });
        if (!task.series.empty()) {
            tasks.push_back(std::move(task));
        }
    }
    return tasks;
}

Result<bool> has_summary(const Scan& scan, const CountTask& task, const Partition& partition) {
    for (const EpochTask& epoch : task.epochs) {
        for (const Series series : epoch.series) {
            if (!scan.is_all_in_range(task.session_index, epoch.epoch, series)) {
                return false;
            }
        }
    }
    for (const Series series : task.series()) {
        Result<bool> has = scan.has_summary(task.session_index, partition, series);
        if (!has.ok() || *has) {
            return has;
        }
    }
    return false;
}

// Tasks for the epochs of one day: one task if there is a summary, else one for each.
Result<Done> add_tasks(const Scan& scan, CountTask task, std::uint32_t day, std::vector<CountTask>& tasks) {
    if (task.epochs.size() > 1) {
        const Partition partition = last_of_day(scan.sessions()[task.session_index], day);
        const auto has = PERFLEET_TRY(has_summary(scan, task, partition));
        if (has) {
            task.day = partition;
            tasks.push_back(std::move(task));
            return Done{};
        }
    }
    for (EpochTask& epoch : task.epochs) {
        tasks.push_back({task.session_index, {std::move(epoch)}, std::nullopt});
    }
    return Done{};
}

}  // namespace

std::vector<Series> CountTask::series() const {
    std::vector<Series> all;
    for (const EpochTask& epoch : epochs) {
        all.insert(all.end(), epoch.series.begin(), epoch.series.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

// Summaries have no threads, no cpus, no times, and no numbers of samples of imported values.
Result<std::vector<CountTask>> count_tasks(const Scan& scan, const PartCount& options) {
    const bool may_use_days =
        !options.per_thread && !options.per_cgroup && !options.per_cpu && !options.cuts && !scan.selection().is_exact;
    std::vector<CountTask> tasks;
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        std::vector<EpochTask> epochs = epoch_tasks(scan, i, options.event);
        const auto day_of_epoch = [&](const EpochTask& task) {
            return day_of(partition_of_epoch(scan.sessions()[i], task.epoch).bucket);
        };
        const bool has_days = may_use_days && !has_imported_values(scan.sessions()[i].record);
        for (auto first = epochs.begin(); first != epochs.end();) {
            const std::uint32_t day = day_of_epoch(*first);
            const auto behind = std::find_if(std::next(first), epochs.end(), [&](const EpochTask& task) {
                return !has_days || day_of_epoch(task) != day;
            });
            CountTask task{i, {std::make_move_iterator(first), std::make_move_iterator(behind)}, std::nullopt};
            PERFLEET_TRY(add_tasks(scan, std::move(task), day, tasks));
            first = behind;
        }
    }
    return tasks;
}

Result<EpochStackCounts> counts_of(const DaySummary& summary, std::size_t session_index, const PartCount& options) {
    auto dictionary = PERFLEET_TRY(dictionary_of(summary));
    EpochStackCounts counts;
    counts.session_index = session_index;
    counts.epoch = summary.hours.front().rows.epoch;
    counts.dictionary = std::make_shared<const EpochDictionary>(std::move(dictionary));
    std::size_t at = 0;
    for (const DaySummary::Name& name : summary.names) {
        const auto runner = static_cast<std::uint32_t>(counts.runners.size());
        counts.runners.push_back(Runner{name.text});
        for (; at < name.sums_end; ++at) {
            const StackSum& sum = summary.sums[at];
            const std::uint64_t amount = options.is_amount ? sum.weight : sum.row_count;
            counts.counts.push_back({runner, sum.stack, {static_cast<std::int64_t>(amount), sum.row_count}});
            counts.total.sum += counts.counts.back().sum;
        }
    }
    if (options.is_amount) {
        counts.total.weights = summary.weights;
    } else {
        counts.total.weights.add(1, summary.row_count);
    }
    return counts;
}

}  // namespace perfleet
