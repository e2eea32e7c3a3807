#include "query-engine/statistic/kernel/kernel_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/statistic/answer/answer_row.h"
#include "query-engine/statistic/kernel/entry_owner.h"
#include "query-engine/statistic/number/shared_whole.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/frame_counts.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "storage/dictionary/thread_names.h"

namespace perfleet {
namespace {

constexpr std::string_view kCollectorText = "(collector)";
constexpr std::string_view kNobodyText = "(no sample)";
constexpr std::string_view kRunningUnknown = "(running unknown)";  // end of such an event's name

struct SampleTaken {
    std::uint64_t ticks = 0;
    std::uint64_t weight = 0;
    std::uint32_t epoch_index = 0;
    std::uint32_t thread_index = 0;
    std::uint32_t stack = 0;

    friend auto operator<=>(const SampleTaken&, const SampleTaken&) = default;
};

struct LogEntry {
    EntryMoment moment;
    std::uint64_t duration_ticks = 0;
    bool is_wanted = false;
};

struct KernelTime {
    std::uint64_t sample_count = 0;
    std::uint64_t ticks = 0;
    long double entry_count = 0;  // not integer: entries may be divided

    void add(std::uint64_t duration_ticks, long double count) {
        ticks += duration_ticks;
        entry_count += count;
    }
};

bool is_wait(const KernelLog& log, const LoggedEntry& entry) {
    static const std::set<std::string, std::less<>> kWaits{"Recv", "ReplyRecv", "Wait", "NBSendRecv", "NBSendWait"};
    return entry.path == sel4::EntryPath::kSyscall && kWaits.contains(syscall_text(log, entry));
}

class KernelTimeOfLog {
public:
    KernelTimeOfLog(const Scan& scan, Symbolizer& symbolizer, const KernelLog& log, const KernelEntryOptions& options,
                    Answer& answer)
        : scan_{scan}, symbolizer_{symbolizer}, log_{log}, options_{options}, answer_{answer}, share_{scan.memory()} {}

    Result<bool> add(AnswerLedger& ledger) {
        const ScannedSession& session = scan_.sessions()[log_.session_index];
        const std::string event = event_of_samples(session);
        if (event.empty()) {
            answer_.warnings.push_back(log_name(scan_, log_) + ": the session has no " +
                                       (options_.samples.empty() ? "samples" : "samples of " + options_.samples) +
                                       ", which would show the running thread");
            return false;
        }
        for (const Series& series : event_series(session, event)) {
            ledger.add(log_.session_index, series);
            PERFLEET_TRY(read_samples(series));
        }
        PERFLEET_TRY(read_entries());
        std::sort(samples_.begin(), samples_.end());
        std::stable_sort(entries_.begin(), entries_.end(), [](const LogEntry& a, const LogEntry& b) {
            return a.moment.start_ticks < b.moment.start_ticks;
        });
        give_to_samples();
        warn(event);
        if (options_.table == KernelEntryTable::kThreads) {
            add_threads();
            return true;
        }
        return add_functions();
    }

private:
    struct Thread {
        std::string name;
        std::uint32_t tid = 0;

        friend auto operator<=>(const Thread&, const Thread&) = default;
    };
    using StackKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // epoch, thread, stack

    [[nodiscard]] std::string event_of_samples(const ScannedSession& session) const {
        for (const Series& series : session.series) {
            const EventRecord* const event = session.record.event_at(series.event);
            if (session.record.kind_of(series) == Kind::kSample && event != nullptr &&
                (options_.samples.empty() || event->name == options_.samples)) {
                return event->name;
            }
        }
        return {};
    }

    Result<Done> read_samples(Series series) {
        constexpr std::array kWanted{ColumnId::kTime, ColumnId::kTid, ColumnId::kCpu, ColumnId::kStack,
                                     ColumnId::kWeight};
        const std::vector<EpochNumber>& epochs = scan_.sessions()[log_.session_index].epochs;
        for (std::uint32_t epoch = 0; epoch < epochs.size(); ++epoch) {
            if (!scan_.has_rows(log_.session_index, epochs[epoch], series)) {
                continue;
            }
            const auto dictionary = PERFLEET_TRY(scan_.dictionary(log_.session_index, epochs[epoch]));
            const auto names = PERFLEET_TRY(read_thread_names(scan_, log_.session_index, epochs[epoch], *dictionary));
            RowCursor rows{scan_, log_.session_index, {epochs[epoch]}, series, kWanted};
            while (const RowBlock* const block = rows.next()) {
                const auto times = block->rows.integers(ColumnId::kTime);
                for (std::size_t row = 0; row < times.size(); ++row) {
                    const auto tid = static_cast<std::uint32_t>(block->rows.integers(ColumnId::kTid)[row]);
                    cpus_.insert(block->rows.integers(ColumnId::kCpu)[row]);
                    samples_.push_back({times[row], block->rows.integers(ColumnId::kWeight)[row], epoch,
                                        thread_index(names.text(names.at(tid, Ticks{times[row]}).name, tid), tid),
                                        static_cast<std::uint32_t>(block->rows.integers(ColumnId::kStack)[row])});
                }
                share_.set(size_bytes());
                PERFLEET_TRY(share_.check());
            }
            PERFLEET_TRY(rows.status());
        }
        return Done{};
    }

    Result<Done> read_entries() {
        PERFLEET_TRY(visit_entries(scan_, log_, [&](const LoggedEntry& entry) {
            entries_.push_back({{entry.start_ticks, entry.path == sel4::EntryPath::kInterrupt, is_wait(log_, entry)},
                                entry.duration_ticks,
                                options_.path.empty() || sel4::path_name(entry.path) == options_.path});
            if (entries_.size() % 4'096 == 0) {
                share_.set(size_bytes());
            }
            return scan_.memory().is_exceeded() ? Visit::kStop : Visit::kContinue;
        }));
        return scan_.memory().check();
    }

    // Memory of both kinds of rows until they are matched, with owners, distances, sums and fractions.
    [[nodiscard]] std::size_t size_bytes() const {
        return samples_.capacity() * (sizeof(SampleTaken) + sizeof(Participation) + 6 * sizeof(std::uint64_t)) +
               entries_.capacity() * (sizeof(LogEntry) + sizeof(EntryMoment) + sizeof(std::uint32_t));
    }

    std::uint32_t thread_index(const std::string& name, std::uint32_t tid) {
        const auto [entry, is_new] =
            thread_numbers_.try_emplace(Thread{name, tid}, static_cast<std::uint32_t>(threads_.size()));
        if (is_new) {
            threads_.push_back(&entry->first);
        }
        return entry->second;
    }

    void give_to_samples() {
        std::vector<std::uint64_t> moments;
        std::vector<Participation> parts;
        for (std::size_t i = 0; i < samples_.size(); ++i) {
            if (i == 0 || samples_[i].ticks != samples_[i - 1].ticks) {
                moments.push_back(samples_[i].ticks);
            }
            parts.push_back(
                {static_cast<std::uint32_t>(moments.size() - 1), samples_[i].thread_index, samples_[i].weight});
            ++times_[{samples_[i].epoch_index, samples_[i].thread_index, samples_[i].stack}].sample_count;
        }
        std::vector<EntryMoment> starts;
        starts.reserve(entries_.size());
        for (const LogEntry& entry : entries_) {
            starts.push_back(entry.moment);
        }
        const std::vector<std::uint32_t> owners = owners_of(starts, moments);
        std::vector<std::uint64_t> ticks(moments.size(), 0);
        std::vector<std::uint64_t> counts(moments.size(), 0);
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            if (!entries_[i].is_wanted) {
                continue;
            }
            total_ticks_ += entries_[i].duration_ticks;
            if (owners[i] == kOwnedByCollector || owners[i] == kOwnedByNobody) {
                (owners[i] == kOwnedByCollector ? collectors_ : nobodys_).add(entries_[i].duration_ticks, 1);
            } else {
                ticks[owners[i]] += entries_[i].duration_ticks;
                ++counts[owners[i]];
            }
        }
        divide(parts, ticks, counts);
    }

    void divide(std::span<const Participation> parts, std::span<const std::uint64_t> ticks,
                std::span<const std::uint64_t> counts) {
        const std::vector<double> fractions = fractions_of(parts, ticks, threads_.size());
        for (std::size_t i = 0; i < parts.size();) {
            const std::uint32_t moment = parts[i].moment;
            std::uint64_t left = ticks[moment];
            for (; i < parts.size() && parts[i].moment == moment; ++i) {
                const bool is_last = i + 1 == parts.size() || parts[i + 1].moment != moment;
                const double part = std::min(static_cast<double>(ticks[moment]) * fractions[i], 0x1p62);
                const std::uint64_t given =
                    is_last ? left : std::min(static_cast<std::uint64_t>(std::llround(part)), left);
                left -= given;
                times_[{samples_[i].epoch_index, samples_[i].thread_index, samples_[i].stack}].add(
                    given, static_cast<long double>(counts[moment]) * fractions[i]);
            }
        }
    }

    void warn(const std::string& event) {
        if (event.ends_with(kRunningUnknown)) {
            answer_.warnings.push_back(
                log_name(scan_, log_) +
                ": this kernel doesn't report which thread ran: a thread that waited when samples were taken gets no "
                "share, and its entries count as those of others or of none (a kernel with MCS reports it)");
        }
        if (cpus_.size() > 1) {
            answer_.warnings.push_back(log_name(scan_, log_) +
                                       ": samples of several cores; entries don't say theirs, and may be another's");
        }
    }

    [[nodiscard]] AnswerValue share_of(std::uint64_t ticks) const {
        return total_ticks_ == 0 ? AnswerValue{}
                                 : real(static_cast<long double>(ticks) / static_cast<long double>(total_ticks_) * 100);
    }

    void add_threads() {
        std::map<Thread, KernelTime> sums;
        for (const auto& [key, time] : times_) {
            KernelTime& sum = sums[*threads_[std::get<1>(key)]];
            sum.add(time.ticks, time.entry_count);
            sum.sample_count += time.sample_count;
        }
        std::vector<std::tuple<std::string, std::optional<std::uint32_t>, KernelTime>> rows;
        for (const auto& [thread, time] : sums) {
            rows.emplace_back(thread.name, thread.tid, time);
        }
        rows.emplace_back(kCollectorText, std::nullopt, collectors_);
        rows.emplace_back(kNobodyText, std::nullopt, nobodys_);
        std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
            return std::get<KernelTime>(a).ticks > std::get<KernelTime>(b).ticks;
        });
        rows.resize(std::min<std::uint64_t>(rows.size(), options_.row_count_max));
        for (const auto& [name, tid, time] : rows) {
            RowMaker row{answer_};
            add_identity(scan_, log_, row);
            row.add("thread", "", name);
            row.add("tid", "", whole_if(tid.has_value(), tid.value_or(0)));
            row.add("samples", "", whole_if(tid.has_value(), time.sample_count));
            row.add("entries", "", real(time.entry_count));
            row.add("kernel_time", log_.unit, time.ticks);
            row.add("share", "percent", share_of(time.ticks));
            row.end();
        }
    }

    Result<bool> add_functions() {
        FrameCounts<std::string> counts{symbolizer_, scan_.memory(), scan_.worker_count(),
                                        true,        true,           FrameNames::Wanted::kAddresses};
        for (auto first = times_.begin(); first != times_.end();) {
            const std::uint32_t epoch_index = std::get<0>(first->first);
            const auto last = times_.lower_bound({epoch_index + 1, 0, 0});
            const EpochNumber epoch = scan_.sessions()[log_.session_index].epochs[epoch_index];
            auto dictionary = PERFLEET_TRY(scan_.dictionary(log_.session_index, epoch));
            counts.add(counts_of(epoch, std::move(dictionary), first, last),
                       [](const Runner& runner) { return runner.command; });
            first = last;
            PERFLEET_TRY(scan_.memory().check());
        }
        struct Row {
            std::string symbol;
            std::string image;
            std::string thread;
            std::uint64_t self = 0;  // ticks
            std::uint64_t children = 0;
        };
        std::vector<Row> rows;
        for (const auto& [thread, frames] : counts.groups()) {
            for (const auto& [frame, entry] : frames) {
                rows.push_back({counts.symbol(frame), counts.image(frame), thread,
                                static_cast<std::uint64_t>(entry.self.amount),
                                static_cast<std::uint64_t>(entry.children.amount)});
            }
        }
        rows.push_back({std::string{kCollectorText}, "", "", collectors_.ticks, collectors_.ticks});
        rows.push_back({std::string{kNobodyText}, "", "", nobodys_.ticks, nobodys_.ticks});
        const auto order = [](const Row& row) {
            return std::tuple{~row.self, ~row.children, std::string_view{row.symbol}, std::string_view{row.image},
                              std::string_view{row.thread}};
        };
        std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return order(a) < order(b); });
        rows.resize(std::min<std::uint64_t>(rows.size(), options_.row_count_max));
        for (const Row& one : rows) {
            RowMaker row{answer_};
            add_identity(scan_, log_, row);
            row.add("symbol", "", one.symbol);
            row.add("image", "", one.image);
            row.add("thread", "", one.thread);
            row.add("self", log_.unit, one.self);
            row.add("share", "percent", share_of(one.self));
            row.add("children", log_.unit, one.children);
            row.add("children_share", "percent", share_of(one.children));
            row.end();
        }
        return true;
    }

    using Times = std::map<StackKey, KernelTime>;
    [[nodiscard]] EpochStackCounts counts_of(EpochNumber epoch, std::shared_ptr<const EpochDictionary> dictionary,
                                             Times::const_iterator first, Times::const_iterator last) const {
        EpochStackCounts counts;
        counts.session_index = log_.session_index;
        counts.epoch = epoch;
        counts.dictionary = std::move(dictionary);
        std::map<std::uint32_t, std::uint32_t> runners;  // by thread, in the order of the counts
        for (; first != last; ++first) {
            const auto [epoch_index, thread, stack] = first->first;
            if (first->second.ticks == 0) {
                continue;
            }
            const auto [runner, is_new] =
                runners.try_emplace(thread, static_cast<std::uint32_t>(counts.runners.size()));
            if (is_new) {
                counts.runners.push_back({threads_[thread]->name});
            }
            counts.counts.push_back({runner->second, StackNumber{stack}, Sum::of_rows(1, first->second.ticks)});
            counts.total.add(first->second.ticks, 1);
        }
        return counts;
    }

    const Scan& scan_;
    Symbolizer& symbolizer_;
    const KernelLog& log_;
    const KernelEntryOptions& options_;
    Answer& answer_;
    MemoryShare share_;
    std::map<Thread, std::uint32_t> thread_numbers_;
    std::vector<const Thread*> threads_;  // keys of thread_numbers_
    std::set<std::uint64_t> cpus_;
    std::vector<SampleTaken> samples_;
    std::vector<LogEntry> entries_;
    Times times_;
    KernelTime collectors_;
    KernelTime nobodys_;
    std::uint64_t total_ticks_ = 0;
};

}  // namespace

Result<bool> add_kernel_time(const Scan& scan, Symbolizer& symbolizer, const KernelLog& log,
                             const KernelEntryOptions& options, AnswerLedger& ledger, Answer& answer) {
    return KernelTimeOfLog{scan, symbolizer, log, options, answer}.add(ledger);
}

}  // namespace perfleet
