#include "tests/chaos/traced_verdict.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace perfleet::chaos {
namespace {

using Counts = std::map<Series, std::uint64_t>;

std::string name_of(Series series) {
    return std::string{kind_name(series.kind)} + '/' + std::to_string(series.event.value);
}

std::string name_of(SessionId session) {
    std::ostringstream name;
    name << "session " << std::hex << std::setfill('0') << std::setw(16) << session.high << std::setw(16)
         << session.low;
    return name.str();
}

std::uint64_t value_of(const Counts& counts, Series series) {
    const auto found = counts.find(series);
    return found == counts.end() ? 0 : found->second;
}

// One session of those that perfleet-collector left in a store.
class TracedJudge {
public:
    TracedJudge(const TracedLog& log, const StoredSession& stored, const Circumstances& circumstances)
        : log_{log},
          stored_{stored},
          has_drops_{!circumstances.dropped_buckets.empty()},
          dropped_buckets_{circumstances.dropped_buckets},
          has_lost_power_{log.power_lost.contains(stored.session)} {
        for (const BatchRecord& batch : stored.batches) {
            records_.emplace(batch.seq, &batch);
            add_named(batch.dropped);
        }
        if (stored.end.has_value()) {
            add_named(stored.end->dropped);
        }
    }

    void judge() {
        judge_batches();
        judge_numbers();
        if (stored_.end.has_value()) {
            judge_sums();
            judge_produced();
        } else if (log_.has_spool && !has_lost_power_) {
            warn() << "has no end, though its counters were on disk";
        }
        for (const KeptSession& kept : log_.kept) {
            if (kept.session == stored_.session) {
                judge_kept(kept);
            }
        }
    }

    // Whose calls it has rows of; nothing when there are none.
    [[nodiscard]] std::optional<std::uint64_t> run() const { return run_; }
    [[nodiscard]] std::uint64_t produced() const { return told(kTracedCalls, CountName::kProduced); }

    [[nodiscard]] std::vector<std::string> warnings() const {
        std::vector<std::string> warnings;
        for (const std::ostringstream& text : warnings_) {
            warnings.push_back(name_of(stored_.session) + ": " + text.str());
        }
        return warnings;
    }

private:
    std::ostream& warn() { return warnings_.emplace_back(); }

    void add_named(const std::vector<SeqRange>& ranges) {
        for (const SeqRange& range : ranges) {
            for (std::uint64_t seq = range.first.value; seq <= range.last.value; ++seq) {
                named_.insert(Seq{seq});
            }
        }
    }

    [[nodiscard]] std::uint64_t told(Series series, CountName name) const {
        if (!stored_.end.has_value()) {
            return 0;
        }
        for (const CountEntry& entry : stored_.end->counts) {
            if (entry.series == series && entry.name == name) {
                return entry.value;
            }
        }
        return 0;
    }
    [[nodiscard]] std::uint64_t reported_lost(Series series) const {
        std::uint64_t lost = 0;
        for (const CountEntry& entry : stored_.end->counts) {
            lost += entry.series == series && is_loss(entry.name) ? entry.value : 0;
        }
        return lost;
    }
    [[nodiscard]] bool has_refusals() const {
        return !stored_.end.has_value() ||
               std::any_of(stored_.end->counts.begin(), stored_.end->counts.end(), [](const CountEntry& entry) {
                   return entry.name == CountName::kLostRefused && entry.value != 0;
               });
    }

    // Each batch is stored once, and its record counts the rows that its blocks have.
    void judge_batches() {
        std::map<std::pair<Seq, Series>, std::uint64_t> in_blocks;
        for (const StoredSession::Block& block : stored_.blocks) {
            in_blocks[{block.first_seq, block.series}] += block.values.size();
        }
        std::set<Seq> seen;
        for (const BatchRecord& batch : stored_.batches) {
            if (!seen.insert(batch.seq).second) {
                warn() << "batch " << batch.seq.value << " is stored twice";
            }
            for (const BatchRecord::Rows& rows : batch.rows) {
                const std::uint64_t there = in_blocks[{batch.seq, rows.series}];
                if (there != rows.row_count) {
                    warn() << "batch " << batch.seq.value << " should have " << rows.row_count << " rows of "
                           << name_of(rows.series) << ", its block has " << there;
                }
            }
        }
    }

    // Every row is a call of one run that was begun, and none is stored twice.
    void judge_numbers() {
        std::set<std::uint64_t> seen;
        std::uint64_t twice = 0;
        std::uint64_t unknown = 0;
        for (const StoredSession::Block& block : stored_.blocks) {
            if (block.series != kTracedCalls) {
                continue;
            }
            for (const std::uint64_t number : block.values) {
                twice += seen.insert(number).second ? 0 : 1;
                run_ = run_.value_or(number / kCallsPerRun);
                const auto begun = log_.begun.find(number / kCallsPerRun);
                const std::uint64_t call = number % kCallsPerRun;
                unknown +=
                    *run_ != number / kCallsPerRun || begun == log_.begun.end() || call == 0 || call > begun->second
                        ? 1
                        : 0;
            }
        }
        if (twice != 0) {
            warn() << twice << " rows of calls are there twice";
        }
        if (unknown != 0) {
            warn() << unknown << " rows are of no call that its workload made";
        }
        if (!seen.empty()) {
            last_call_ = *seen.rbegin() % kCallsPerRun;
            missing_before_last_ = last_call_ - std::min<std::uint64_t>(last_call_, seen.size());
        }
    }

    // Produced = stored + expired + lost. Rows that arrived, were dropped by the collector all the same, and then
    // expired with their partition are in two counts.
    void judge_sums() {
        Counts stored;
        Counts held;  // dropped, and stored all the same
        std::set<Series> all_series{kTracedCalls};
        for (const BatchRecord& batch : stored_.batches) {
            for (const BatchRecord::Rows& rows : batch.rows) {
                stored[rows.series] += rows.row_count;
                held[rows.series] += named_.contains(batch.seq) ? rows.row_count : 0;
                all_series.insert(rows.series);
            }
        }
        for (const CountEntry& entry : stored_.end->counts) {
            all_series.insert(entry.series);
        }
        for (const Series series : all_series) {
            const std::uint64_t produced = told(series, CountName::kProduced);
            const std::uint64_t expired = value_of(stored_.expired, series);
            const std::uint64_t sum =
                value_of(stored, series) + expired + reported_lost(series) - value_of(held, series);
            const std::uint64_t twice_max = has_drops_ ? told(series, CountName::kLostSpoolFull) : 0;
            if (has_lost_power_ ? reported_lost(series) > produced : sum < produced || sum > produced + twice_max) {
                warn() << name_of(series) << ": produced " << produced << ", but stored " << value_of(stored, series)
                       << " + expired " << expired << " + lost " << reported_lost(series) << " - held though dropped "
                       << value_of(held, series) << " = " << sum;
            }
            if (expired != 0 && !has_drops_) {
                warn() << name_of(series) << ": " << expired << " rows expired, though no partition was dropped";
            }
        }
    }

    // Its count of the calls lies between those that it has and those that were made; and before the last that it has,
    // none is missing that wasn't counted as lost. A kill's losses came after that.
    void judge_produced() {
        if (has_lost_power_ || !run_.has_value()) {
            return;
        }
        const auto begun = log_.begun.find(*run_);
        if (produced() < last_call_ || (begun != log_.begun.end() && produced() > begun->second)) {
            warn() << "the end says produced " << produced() << ", its last row is call " << last_call_ << " of "
                   << (begun == log_.begun.end() ? 0 : begun->second);
        }
        const std::uint64_t lost = reported_lost(kTracedCalls) - told(kTracedCalls, CountName::kLostKilled) +
                                   value_of(stored_.expired, kTracedCalls);
        if (missing_before_last_ > lost) {
            warn() << missing_before_last_ << " calls are missing before its last row, and " << lost
                   << " were counted as lost or expired";
        }
    }

    [[nodiscard]] bool may_be_gone(BucketNumber bucket) const { return dropped_buckets_.contains(bucket); }

    // The collector's remaining batches are there, unchanged; and its counts are those of the end.
    void judge_kept(const KeptSession& kept) {
        for (const auto& [seq, batch] : kept.batches) {
            const auto found = records_.find(seq);
            if (found == records_.end()) {
                if (!named_.contains(seq) && !may_be_gone(batch.bucket) && !has_refusals() && !has_lost_power_) {
                    warn() << "batch " << seq.value << " stood in the spool, and is neither there nor named";
                }
                continue;
            }
            const BatchRecord& record = *found->second;
            std::map<Series, std::uint32_t> row_counts;
            for (const BatchRecord::Rows& rows : record.rows) {
                row_counts[rows.series] = rows.row_count;
            }
            if (record.seal != batch.seal || row_counts != batch.row_counts) {
                warn() << "batch " << seq.value << " isn't the one that stood in the spool";
            }
        }
        const auto is_dropped = [&](Seq seq) {
            return named_.contains(seq) ||
                   std::any_of(kept.dropped.begin(), kept.dropped.end(),
                               [&](const SeqRange& range) { return range.first <= seq && seq <= range.last; });
        };
        const bool is_known = !has_drops_ && !kept.has_refused && !kept.is_since_power_loss;
        for (Seq seq{1}; seq < kept.first_kept && is_known; ++seq.value) {
            if (!records_.contains(seq) && !is_dropped(seq)) {
                warn() << "batch " << seq.value << " had left the spool of a killed collector, which kept "
                       << kept.first_kept.value << " and later ones, and is neither there nor named";
                break;
            }
        }
        for (const CountEntry& entry : kept.own_counts) {
            if (stored_.end.has_value() && !has_lost_power_ && told(entry.series, entry.name) != entry.value) {
                warn() << name_of(entry.series) << ": the end says " << count_name(entry.name) << ' '
                       << told(entry.series, entry.name) << ", on disk it was " << entry.value;
            }
        }
    }

    const TracedLog& log_;
    const StoredSession& stored_;
    bool has_drops_;
    const std::set<BucketNumber>& dropped_buckets_;
    bool has_lost_power_;
    std::map<Seq, const BatchRecord*> records_;
    std::set<Seq> named_;  // as dropped
    std::optional<std::uint64_t> run_;
    std::uint64_t last_call_ = 0;
    std::uint64_t missing_before_last_ = 0;
    std::vector<std::ostringstream> warnings_;
};

}  // namespace

std::vector<std::string> judge_traced(const TracedLog& log, std::span<const StoredSession> sessions,
                                      const Circumstances& circumstances) {
    std::vector<std::string> warnings;
    std::map<std::uint64_t, std::uint64_t> produced;  // by run
    std::multiset<std::uint64_t> produced_unknown;    // of sessions without rows of any run
    std::set<SessionId> known;
    for (const StoredSession& stored : sessions) {
        TracedJudge judge{log, stored, circumstances};
        judge.judge();
        known.insert(stored.session);
        for (std::string& warning : judge.warnings()) {
            warnings.push_back(std::move(warning));
        }
        if (!judge.run().has_value()) {
            produced_unknown.insert(judge.produced());
        } else if (!produced.emplace(*judge.run(), judge.produced()).second) {
            warnings.push_back("the calls of run " + std::to_string(*judge.run()) + " stand in two sessions");
        }
    }
    for (const KeptSession& kept : log.kept) {
        if (!known.contains(kept.session) && !log.power_lost.contains(kept.session)) {
            warnings.push_back(name_of(kept.session) + ": stood in the spool, and the store doesn't know it");
        }
    }
    for (const auto& [run, calls] : log.finished) {
        const auto found = produced.find(run);
        const auto unknown = produced_unknown.find(calls);
        if (found == produced.end() && unknown != produced_unknown.end()) {
            produced_unknown.erase(unknown);  // its rows are gone
        } else if (found == produced.end() || found->second != calls) {
            warnings.push_back("run " + std::to_string(run) + ": " + std::to_string(calls) +
                               " calls were made, its session says produced " +
                               (found == produced.end() ? "nothing" : std::to_string(found->second)));
        }
    }
    return warnings;
}

}  // namespace perfleet::chaos
