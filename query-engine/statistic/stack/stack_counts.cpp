#include "query-engine/statistic/stack/stack_counts.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "query-engine/scan/ordered_work.h"
#include "query-engine/statistic/stack/count_order.h"
#include "query-engine/statistic/stack/count_tasks.h"
#include "query-engine/statistic/stack/partition_counts.h"
#include "query-engine/statistic/stack/runner_sums.h"
#include "query-engine/statistic/stack/stack_totals.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/dictionary/thread_names.h"

namespace perfleet {
namespace {

constexpr std::size_t kArraysShare = 8;  // count arrays take at most an eighth of a query's memory

struct RunnerKey {
    std::uint32_t name = ThreadNames::kNoName;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t slice = 0;
    std::uint32_t cgroup = ProcessCgroups::kUnknown;
    std::uint32_t cpu = 0;

    friend auto operator<=>(const RunnerKey&, const RunnerKey&) = default;
};

// Names and cgroups of threads, from the task rows of an epoch.
struct TaskNames {
    ThreadNames threads;
    ProcessCgroups cgroups;  // empty if they aren't needed
};

bool needs_pid(const PartCount& options) { return options.per_thread || options.per_cgroup; }

// The owner of one or more rows; fields that aren't needed are 0.
struct RowOwner {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint32_t cpu = 0;

    friend bool operator==(const RowOwner&, const RowOwner&) = default;
};

// Counts on one thread. Runners are numbered in the order in which this worker meets them.
class Worker {
public:
    // Borrows the cuts and the memory.
    Worker(std::size_t size_bytes_max, std::size_t stack_count, std::span<const Ticks> cuts, QueryMemory& memory)
        : sums_{size_bytes_max, stack_count}, cuts_{cuts}, share_{memory} {}

    void count(RowBlock& block, const SessionRecord& session, const TaskNames& names, const PartCount& options) {
        has_numbers_ = has_sample_numbers(session, block.series);
        total_.lacks_sample_numbers |= has_imported_values(session) && !has_numbers_;
        count_wanted(block, names, options);
        charge();
    }

    [[nodiscard]] const RunnerSums& sums() const { return sums_; }
    [[nodiscard]] const std::vector<RunnerKey>& runners() const { return runners_; }
    [[nodiscard]] const RowTotal& total() const { return total_; }

private:
    // A runner has a node of numbers_ and a list of pages beside its place in runners_.
    void charge() {
        constexpr std::size_t kRunnerSizeBytes = 3 * sizeof(RunnerKey) + 12 * sizeof(void*);
        share_.set(sums_.size_bytes() + runners_.size() * kRunnerSizeBytes);
    }

    void count_wanted(RowBlock& block, const TaskNames& names, const PartCount& options) {
        const Found found = block.is_whole() && !has_numbers_ ? find_runs(block, names, options) : Found::kNoRuns;
        if (found == Found::kRuns) {
            count_runs(block, options);
        } else if (found == Found::kNoRuns && block.decode_more(row_columns(options, has_numbers_))) {
            count_rows(block, names, options);
        }
    }

    struct Remembered {
        RowOwner owner;
        Ticks from{1};
        Ticks until{0};
        std::uint32_t runner = 0;
    };

    // Neighbouring rows of one runner.
    struct Run {
        std::size_t end = 0;  // row after the last
        std::uint32_t runner = 0;
    };

    enum class Found : std::uint8_t { kRuns, kNoRuns, kDamage };

    // Fills runs_; kNoRuns if a thread has more than one runner in the block, so that each row's time matters.
    [[nodiscard]] Found find_runs(RowBlock& block, const TaskNames& names, const PartCount& options) {
        runs_.clear();
        constexpr ValueRun kAllRows{.end = ~0U, .value = 0};
        pids_.assign(1, kAllRows);
        cpus_.assign(1, kAllRows);
        if (!block.decode_runs(ColumnId::kTid, tids_) ||
            (needs_pid(options) && !block.decode_runs(ColumnId::kPid, pids_)) ||
            (options.per_cpu && !block.decode_runs(ColumnId::kCpu, cpus_))) {
            return Found::kDamage;
        }
        // Samples are sorted by cpu, so a run has many rows of one thread.
        auto pid = pids_.begin();
        auto cpu = cpus_.begin();
        for (auto tid = tids_.begin(); tid != tids_.end();) {
            const std::uint32_t end = std::min({tid->end, pid->end, cpu->end});
            const Remembered& runner =
                runner_of({pid->value, tid->value, cpu->value}, block.first_ticks, names, options);
            if (block.last_ticks >= runner.until) {
                return Found::kNoRuns;
            }
            if (!runs_.empty() && runs_.back().runner == runner.runner) {
                runs_.back().end = end;
            } else {
                runs_.push_back({end, runner.runner});
            }
            tid += tid->end == end ? 1 : 0;
            pid += pid->end == end ? 1 : 0;
            cpu += cpu->end == end ? 1 : 0;
        }
        return Found::kRuns;
    }

    // Counts no rows if any needed column is damaged.
    void count_runs(RowBlock& block, const PartCount& options) {
        if (!block.decode_narrow(ColumnId::kStack, stacks_) ||
            (options.is_amount && !block.decode_more(std::array{ColumnId::kWeight}))) {
            return;
        }
        const std::span<const std::uint32_t> stacks{stacks_.values};
        const RowWeights weights = take_weights(block, stacks.size(), options);
        std::size_t begin = 0;
        for (const Run& run : runs_) {
            const std::size_t size = run.end - begin;
            sums_.add_all(run.runner, stacks.subspan(begin, size), stacks_.bits,
                          {weights.each.empty() ? weights.each : weights.each.subspan(begin, size), weights.same});
            begin = run.end;
        }
    }

    static std::vector<ColumnId> row_columns(const PartCount& options, bool has_numbers) {
        std::vector<ColumnId> columns{ColumnId::kTime, ColumnId::kTid, ColumnId::kStack};
        if (needs_pid(options)) {
            columns.push_back(ColumnId::kPid);
        }
        if (options.per_cpu) {
            columns.push_back(ColumnId::kCpu);
        }
        if (options.is_amount) {
            columns.push_back(ColumnId::kWeight);
        }
        if (has_numbers) {
            columns.push_back(ColumnId::kValue);
        }
        return columns;
    }

    // Row by row.
    void count_rows(RowBlock& block, const TaskNames& names, const PartCount& options) {
        const auto times = block.rows.integers(ColumnId::kTime);
        const auto tids = block.rows.integers(ColumnId::kTid);
        const auto stacks = block.rows.integers(ColumnId::kStack);
        const auto pids = column_of(block, needs_pid(options), ColumnId::kPid);
        const auto cpus = column_of(block, options.per_cpu, ColumnId::kCpu);
        const auto numbers = column_of(block, has_numbers_, ColumnId::kValue);
        const RowWeights weights = numbers.empty() ? take_weights(block, stacks.size(), options)
                                                   : RowWeights{column_of(block, options.is_amount, ColumnId::kWeight)};
        const auto at = [](std::span<const std::uint64_t> column, std::size_t row) {
            return column.empty() ? 0 : static_cast<std::uint32_t>(column[row]);
        };
        for (std::size_t row = 0; row < block.rows.row_count(); ++row) {
            const Remembered& runner =
                runner_of({at(pids, row), at(tids, row), at(cpus, row)}, Ticks{times[row]}, names, options);
            const std::uint64_t weight = weights.each.empty() ? weights.same : weights.each[row];
            const Sum sum = numbers.empty() ? Sum::of_rows(1, weight) : take_value(weight, numbers[row], options);
            sums_.add(runner.runner, static_cast<std::uint32_t>(stacks[row]), sum);
        }
    }

    static std::span<const std::uint64_t> column_of(RowBlock& block, bool is_needed, ColumnId id) {
        return is_needed ? block.rows.integers(id) : std::span<const std::uint64_t>{};
    }
    // The weights of a block's rows, added to the total.
    RowWeights take_weights(RowBlock& block, std::size_t row_count, const PartCount& options) {
        RowWeights weights{column_of(block, options.is_amount, ColumnId::kWeight)};
        if (!weights.each.empty() && std::all_of(weights.each.begin(), weights.each.end(), [&](std::uint64_t weight) {
                return weight == weights.each.front();
            })) {
            weights = {{}, weights.each.front()};
        }
        if (weights.each.empty()) {
            total_.add(weights.same, row_count);
        }
        for (const std::uint64_t weight : weights.each) {
            total_.add(weight, 1);
        }
        return weights;
    }

    // An imported value, added to the total.
    Sum take_value(std::uint64_t value, std::uint64_t samples, const PartCount& options) {
        if (samples == kUnknownSamples) {
            total_.add(value, 1);
            total_.lacks_sample_numbers = true;
            return Sum::of_rows(1, value);
        }
        const std::uint64_t amount = options.is_amount ? value : samples;
        total_.add_value(amount, samples);
        return {static_cast<std::int64_t>(amount), samples};
    }

    // The thread's runner at `ticks`, and the time for which it is valid.
    const Remembered& runner_of(const RowOwner& owner, Ticks ticks, const TaskNames& names, const PartCount& options) {
        Remembered& last = remembered_[owner.tid % remembered_.size()];
        if (last.owner == owner && last.from <= ticks && ticks < last.until) {
            return last;
        }
        const ThreadNames::Span span = names.threads.at(owner.tid, ticks);
        const TimedNames::Span cgroup = options.per_cgroup ? names.cgroups.at(owner.pid, ticks) : TimedNames::Span{};
        const auto cut = std::upper_bound(cuts_.begin(), cuts_.end(), ticks);
        RunnerKey key{span.name, 0, 0, static_cast<std::uint32_t>(cut - cuts_.begin()), cgroup.name, owner.cpu};
        if (options.per_thread) {
            key.pid = owner.pid;
        }
        if (options.per_thread || span.name == ThreadNames::kNoName) {
            key.tid = owner.tid;
        }
        const auto [entry, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(runners_.size()));
        if (is_new) {
            runners_.push_back(key);
        }
        const Ticks from = std::max(span.from, cgroup.from);
        const Ticks until = std::min(span.until, cgroup.until);
        last = {owner, cut == cuts_.begin() ? from : std::max(from, *(cut - 1)),
                cut == cuts_.end() ? until : std::min(until, *cut), entry->second};
        return last;
    }

    RunnerSums sums_;
    RowTotal total_;
    bool has_numbers_ = false;  // the block's rows are values that may say how many samples they stand for
    std::span<const Ticks> cuts_;
    std::vector<Run> runs_;  // of the block that is being counted
    std::vector<ValueRun> tids_;
    std::vector<ValueRun> pids_;
    std::vector<ValueRun> cpus_;
    NarrowColumn stacks_;
    std::vector<RunnerKey> runners_;
    std::map<RunnerKey, std::uint32_t> numbers_;
    std::array<Remembered, 256> remembered_{};
    MemoryShare share_;
};

// Empty if the memory is exceeded.
EpochStackCounts merged(const std::vector<Worker>& workers, const TaskNames& names, const PartCount& options,
                        MemoryShare& share) {
    EpochStackCounts result;
    std::size_t runner_count = 0;
    std::size_t pair_count = 0;
    for (const Worker& worker : workers) {
        result.total += worker.total();
        runner_count += worker.runners().size();
        pair_count += worker.sums().pair_count();
    }
    constexpr std::size_t kRunnerSizeBytes = 2 * sizeof(Runner) + 10 * sizeof(void*);
    // Half as much again while they are sorted.
    share.add(runner_count * kRunnerSizeBytes + pair_count * sizeof(StackCount) * 3 / 2);
    if (share.is_exceeded()) {
        return result;
    }
    result.counts.reserve(pair_count);
    std::map<Runner, std::uint32_t> runners;
    const auto runner_of = [&](const RunnerKey& key) {
        return Runner{names.threads.text(key.name, key.tid),
                      key.pid,
                      options.per_thread ? key.tid : 0,
                      key.slice,
                      key.cgroup == ProcessCgroups::kUnknown ? std::string{} : names.cgroups.paths()[key.cgroup],
                      key.cpu};
    };
    for (const Worker& worker : workers) {
        for (const RunnerKey& key : worker.runners()) {
            runners.try_emplace(runner_of(key), 0);
        }
    }
    for (auto& [runner, number] : runners) {
        number = static_cast<std::uint32_t>(result.runners.size());
        result.runners.push_back(runner);
    }
    for (const Worker& worker : workers) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> numbers;  // of the runner, of the worker's
        for (const RunnerKey& key : worker.runners()) {
            numbers.emplace_back(runners.at(runner_of(key)), static_cast<std::uint32_t>(numbers.size()));
        }
        std::vector<std::pair<std::uint32_t, std::uint32_t>> ascending = numbers;
        std::sort(ascending.begin(), ascending.end());
        const std::size_t begin = result.counts.size();
        for (const auto& [number, local] : ascending) {
            worker.sums().for_each(local, [&, runner = number](std::uint32_t stack, const Sum& sum) {
                result.counts.push_back({runner, StackNumber{stack}, sum});
            });
        }
        sort_from(begin, result.counts);
        const std::size_t others_begin = result.counts.size();
        worker.sums().others().for_each([&](std::uint64_t key, const Sum& sum) {
            result.counts.push_back(
                {numbers[key >> 32U].first, StackNumber{static_cast<std::uint32_t>(key & 0xffff'ffffU)}, sum});
        });
        sort_from(others_begin, result.counts);
    }
    sum_equal_pairs(result.counts);
    return result;
}

// Counts, and the part of the query's memory that they take.
struct CountedEpoch {
    EpochStackCounts counts;
    MemoryShare share;
    std::shared_ptr<const PartitionStacks> stacks = nullptr;  // whose nodes the counts refer to, or null
};

// How a query reads an epoch's stack numbers.
struct EpochMeaning {
    std::shared_ptr<const EpochDictionary> dictionary;        // without images and call chains if there are `stacks`
    std::shared_ptr<const PartitionStacks> stacks = nullptr;  // stacks of the partition's dictionary, or null
    std::vector<std::uint32_t> map{};                         // their nodes, by the epoch's stack number

    [[nodiscard]] std::size_t stack_count() const { return stacks ? map.size() : dictionary->stack_count(); }
    [[nodiscard]] std::size_t size_bytes() const {
        return dictionary->size_bytes() + map.capacity() * sizeof(std::uint32_t);
    }
};

// The batches whose rows the summaries count.
using CoveredEpochs = std::map<std::pair<EpochNumber, Series>, CoveredSeqs>;

// `stacks` may be null.
Result<EpochMeaning> read_meaning(const Scan& scan, std::size_t session_index, EpochNumber epoch,
                                  const std::shared_ptr<const PartitionStacks>& stacks) {
    EpochMeaning meaning;
    if (stacks != nullptr) {
        auto map = PERFLEET_TRY(scan.stack_map(session_index, epoch, *stacks));
        if (map.has_value()) {
            meaning.map = std::move(*map);
            meaning.stacks = stacks;
        }
    }
    meaning.dictionary = PERFLEET_TRY(meaning.stacks ? scan.dictionary(session_index, epoch, std::array{Kind::kString})
                                                     : scan.dictionary(session_index, epoch));
    return meaning;
}

Result<TaskNames> read_task_names(const Scan& scan, std::size_t session_index, EpochNumber epoch,
                                  const EpochDictionary& dictionary, const PartCount& options) {
    TaskNames names;
    names.threads = PERFLEET_TRY(read_thread_names(scan, session_index, epoch, dictionary));
    if (options.per_cgroup) {
        names.cgroups = PERFLEET_TRY(read_cgroups(scan, session_index, epoch, dictionary));
    }
    return names;
}

Result<CountedEpoch> count_epoch(const Scan& scan, std::size_t session_index, const EpochTask& task,
                                 const PartCount& options, const CoveredEpochs& covered,
                                 const std::shared_ptr<const PartitionStacks>& stacks, unsigned worker_count,
                                 std::size_t array_size_bytes) {
    QueryMemory& memory = scan.memory();
    auto meaning = PERFLEET_TRY(read_meaning(scan, session_index, task.epoch, stacks));
    MemoryShare meaning_share{memory};
    meaning_share.set(meaning.size_bytes());
    const auto names = PERFLEET_TRY(read_task_names(scan, session_index, task.epoch, *meaning.dictionary, options));
    const std::vector<Ticks> cuts = options.cuts ? options.cuts(session_index) : std::vector<Ticks>{};
    const SessionRecord& session = scan.sessions()[session_index].record;
    std::vector<Worker> workers;
    for (unsigned i = 0; i < worker_count; ++i) {
        workers.emplace_back(array_size_bytes / worker_count, meaning.stack_count(), cuts, memory);
    }
    for (const Series& one : task.series) {
        PERFLEET_TRY(scan.visit_rows_in_parallel(
            session_index, task.epoch, one, covered.at({task.epoch, one}), worker_count,
            [&](unsigned worker, RowBlock& block) { workers[worker].count(block, session, names, options); }));
    }
    EpochStackCounts counts = merged(workers, names, options, meaning_share);
    CountedEpoch counted{std::move(counts), std::move(meaning_share)};
    counted.counts.session_index = session_index;
    counted.counts.epoch = task.epoch;
    if (meaning.stacks && translate(meaning.map, meaning.stacks, counted.counts)) {
        counted.stacks = std::move(meaning.stacks);
        return counted;
    }
    if (meaning.stacks) {  // rows have a call chain that is not defined
        auto dictionary = PERFLEET_TRY(scan.dictionary(session_index, task.epoch));
        meaning.dictionary = std::move(dictionary);
        counted.share.add(meaning.dictionary->size_bytes());
    }
    counted.counts.dictionary = std::move(meaning.dictionary);
    return counted;
}

// Counts the rows that the day's summaries cover.
Result<Done> count_summaries(const Scan& scan, const CountTask& task, const PartCount& options, CoveredEpochs& covered,
                             std::vector<CountedEpoch>& counted) {
    for (const Series series : task.series()) {
        const auto on_summary = [&, one = series](const DaySummary& summary) {
            const bool is_new = std::all_of(summary.hours.begin(), summary.hours.end(), [&](const DayHour& hour) {
                const auto found = covered.find({hour.rows.epoch, one});
                return found != covered.end() &&
                       std::none_of(hour.rows.seqs.begin(), hour.rows.seqs.end(),
                                    [&](const SeqRange& range) { return found->second.has_any_of(range); });
            });
            Result<EpochStackCounts> counts = counts_of(summary, task.session_index, options);
            if (!is_new || !counts.ok()) {
                return Visit::kContinue;  // its blocks are read instead
            }
            MemoryShare share{scan.memory()};
            share.set(counts->dictionary->size_bytes() + counts->counts.capacity() * sizeof(StackCount));
            counted.push_back({std::move(*counts), std::move(share)});
            for (const DayHour& hour : summary.hours) {
                covered.at({hour.rows.epoch, one}).add(hour.rows.seqs);
            }
            return Visit::kContinue;
        };
        PERFLEET_TRY(scan.visit_summaries(task.session_index, *task.day, series, on_summary));
    }
    return Done{};
}

Result<std::vector<CountedEpoch>> count_task(const Scan& scan, const CountTask& task, const PartCount& options,
                                             PartitionDictionaries& dictionaries, unsigned worker_count,
                                             std::size_t array_size_bytes) {
    std::vector<CountedEpoch> counted;
    CoveredEpochs covered;
    for (const EpochTask& epoch : task.epochs) {
        for (const Series series : epoch.series) {
            covered.try_emplace({epoch.epoch, series});
        }
    }
    if (task.day) {
        PERFLEET_TRY(count_summaries(scan, task, options, covered, counted));
    }
    const auto stacks = PERFLEET_TRY(dictionaries.of(task));
    for (EpochTask epoch : task.epochs) {
        std::erase_if(epoch.series, [&](Series series) {
            return !scan.has_rows(task.session_index, epoch.epoch, series, covered.at({epoch.epoch, series}));
        });
        if (epoch.series.empty()) {
            continue;
        }
        auto one = PERFLEET_TRY(
            count_epoch(scan, task.session_index, epoch, options, covered, stacks, worker_count, array_size_bytes));
        counted.push_back(std::move(one));
    }
    return counted;
}

// Many epochs, or days, are counted side by side, each on one thread; few one after the other, each on all threads.
Result<Done> visit_event(const Scan& scan, const PartCount& options,
                         const std::function<void(EpochStackCounts&)>& visitor) {
    auto found = PERFLEET_TRY(count_tasks(scan, options));
    std::vector<CountTask>& tasks = found;
    PartitionDictionaries dictionaries{scan, !options.cuts && !options.per_session, tasks};
    const unsigned all = scan.worker_count();
    const bool are_many = tasks.size() >= std::size_t{2} * all;
    const std::size_t array_size_bytes =
        std::min(options.array_size_bytes_max, scan.memory().size_bytes_max() / kArraysShare) / (are_many ? all : 1);
    PartitionCounts together{scan.memory(), array_size_bytes, visitor};
    Result<Done> done = Done{};
    do_in_order(
        tasks.size(), are_many ? all : 1,
        [&](std::size_t i) {
            return count_task(scan, tasks[i], options, dictionaries, are_many ? 1 : all, array_size_bytes);
        },
        [&](Result<std::vector<CountedEpoch>> counted) {
            if (!counted.ok()) {
                done = std::move(counted).error();
                return false;
            }
            for (CountedEpoch& one : *counted) {
                if (scan.memory().is_exceeded()) {
                    break;
                }
                if (one.stacks && !one.counts.counts.empty()) {
                    together.add(one.counts, one.stacks);
                } else if (!one.counts.counts.empty()) {
                    visitor(one.counts);
                }
            }
            if (scan.memory().is_exceeded()) {
                done = scan.memory().exceeded();
            }
            return done.ok();
        },
        [&] { return scan.memory().is_half_full(); });
    if (done.ok()) {
        together.finish();
    }
    return done;
}

}  // namespace

void chain_of(const EpochDictionary& dictionary, StackNumber stack, std::vector<StackNumber>& chain) {
    chain.assign(1, stack);
    while (stack != kEmptyStack && chain.size() < limits::kStackChainMax) {
        stack = caller_of(dictionary, stack);
        if (stack != kEmptyStack) {
            chain.push_back(stack);
        }
    }
}

std::string root_name(const Measure& measure, const EpochStackCounts& counts, const Runner& runner) {
    return measure.parts.size() == 1 ? runner.command : runner.command + " [" + measure.part_name(counts.part) + "]";
}

Result<Done> visit_stack_counts(const Scan& scan, const Measure& measure, const StackCountOptions& options,
                                const std::function<void(const EpochStackCounts&)>& visitor) {
    WeightTotal weights;
    for (std::size_t part = 0; part < measure.parts.size(); ++part) {
        PERFLEET_TRY(visit_event(scan, PartCount{options, measure.parts[part], measure.is_amount},
                                 [&](EpochStackCounts& counts) {
                                     counts.part = part;
                                     weights.add(counts.total.weights);
                                     if (weights.is_exact()) {
                                         visitor(counts);
                                     }
                                 }));
    }
    if (!weights.is_exact()) {
        return Error{ErrorCode::kTooLarge, "the amounts of " + measure.event + " add up to 2^63 " + measure.unit +
                                               " or more: select less (--session, --from, --until), or count samples "
                                               "(--measure samples)"};
    }
    return Done{};
}

}  // namespace perfleet
