#include "tests/chaos/verdict.h"

#include <algorithm>
#include <sstream>

namespace perfleet::chaos {
namespace {

std::string name_of(Series series) {
    return std::string{kind_name(series.kind)} + '/' + std::to_string(series.event.value);
}

std::uint64_t value_of(const std::map<Series, std::uint64_t>& counts, Series series) {
    const auto found = counts.find(series);
    return found == counts.end() ? 0 : found->second;
}

std::uint64_t count_of(std::span<const CountEntry> counts, Series series, CountName name) {
    for (const CountEntry& entry : counts) {
        if (entry.series == series && entry.name == name) {
            return entry.value;
        }
    }
    return 0;
}

std::uint64_t lost_of(std::span<const CountEntry> counts, Series series) {
    std::uint64_t lost = 0;
    for (const CountEntry& entry : counts) {
        lost += entry.series == series && is_loss(entry.name) ? entry.value : 0;
    }
    return lost;
}

class Judge {
public:
    Judge(const SourceLog& log, const StoredSession& stored, const Circumstances& circumstances)
        : log_{log}, stored_{stored}, circumstances_{circumstances} {
        for (const BatchRecord& batch : stored.batches) {
            stored_seqs_.insert(batch.seq.value);
            add_named(batch.dropped);
        }
        if (stored.end.has_value()) {
            add_named(stored.end->dropped);
        }
    }

    std::vector<std::string> judge() {
        judge_batches();
        judge_rows();
        judge_acknowledged();
        judge_counts();
        if (!circumstances_.has_lost_power) {
            judge_dropped();
        }
        if (stored_.end.has_value() && circumstances_.has_lost_power) {
            judge_bounds();
        } else if (stored_.end.has_value()) {
            judge_ledger();
        } else if (log_.is_finish_acknowledged) {
            warn() << "the Bye was acknowledged, and there is no end";
        } else if (circumstances_.has_disk_spool) {
            warn() << "the session has no end, though its counters were on disk";
        }
        std::vector<std::string> warnings;
        warnings.reserve(warnings_.size());
        for (const std::ostringstream& text : warnings_) {
            warnings.push_back(text.str());
        }
        return warnings;
    }

private:
    std::ostream& warn() { return warnings_.emplace_back(); }

    void add_named(const std::vector<SeqRange>& ranges) {
        for (const SeqRange& range : ranges) {
            for (std::uint64_t seq = range.first.value; seq <= range.last.value; ++seq) {
                named_.insert(seq);
            }
        }
    }

    [[nodiscard]] bool may_be_expired(std::uint64_t seq) const {
        const auto sealed = log_.sealed.find(seq);
        return sealed == log_.sealed.end() ? !circumstances_.dropped_buckets.empty()
                                           : circumstances_.dropped_buckets.contains(sealed->second.bucket);
    }

    // Every batch is stored once, and its record counts the rows that its blocks have.
    void judge_batches() {
        std::map<std::pair<std::uint64_t, Series>, std::uint64_t> rows_in_blocks;
        for (const StoredSession::Block& block : stored_.blocks) {
            rows_in_blocks[{block.first_seq.value, block.series}] += block.values.size();
        }
        std::set<std::uint64_t> seen;
        for (const BatchRecord& batch : stored_.batches) {
            if (!seen.insert(batch.seq.value).second) {
                warn() << "batch " << batch.seq.value << " is stored twice";
            }
            if (batch.seq.value == 0 || batch.seq.value > last_sealable()) {
                warn() << "batch " << batch.seq.value << " is stored and was never sealed";
            }
            for (const BatchRecord::Rows& rows : batch.rows) {
                const std::uint64_t there = rows_in_blocks[{batch.seq.value, rows.series}];
                if (there != rows.row_count) {
                    warn() << "batch " << batch.seq.value << " should have " << rows.row_count << " rows of "
                           << name_of(rows.series) << ", its block has " << there;
                }
            }
        }
    }

    // A source that was killed may have sealed one batch that it didn't write down any more.
    [[nodiscard]] std::uint64_t last_sealable() const {
        const std::uint64_t last = log_.sealed.empty() ? 0 : log_.sealed.rbegin()->first;
        return log_.end.empty() ? last + 1 : last;
    }

    // No row twice, none that wasn't produced, and each in the batch in which it was sealed.
    void judge_rows() {
        std::map<Series, std::set<std::uint64_t>> seen;
        for (const StoredSession::Block& block : stored_.blocks) {
            std::set<std::uint64_t>& values = seen[block.series];
            std::uint64_t twice = 0;
            std::uint64_t unknown = 0;
            for (const std::uint64_t value : block.values) {
                twice += values.insert(value).second ? 0 : 1;
                unknown += value == 0 || value > value_of(log_.produced, block.series) ? 1 : 0;
            }
            if (twice != 0) {
                warn() << "batch " << block.first_seq.value << ": " << twice << " rows of " << name_of(block.series)
                       << " are there twice";
            }
            if (unknown != 0) {
                warn() << "batch " << block.first_seq.value << ": " << unknown << " rows of " << name_of(block.series)
                       << " were never produced";
            }
            std::vector<std::uint64_t> ordered = block.values;
            std::ranges::sort(ordered);  // samples are by processor in their batch
            if (ordered != expected_values(block)) {
                warn() << "batch " << block.first_seq.value << ": the rows of " << name_of(block.series)
                       << " are not those that were sealed";
            }
        }
    }

    [[nodiscard]] std::vector<std::uint64_t> expected_values(const StoredSession::Block& block) const {
        std::vector<std::uint64_t> values;
        for (std::uint64_t seq = block.first_seq.value; seq <= block.last_seq.value; ++seq) {
            RowRange range;
            if (const auto sealed = log_.sealed.find(seq); sealed != log_.sealed.end()) {
                const auto rows = sealed->second.rows.find(block.series);
                if (rows == sealed->second.rows.end()) {
                    continue;
                }
                range = rows->second;
            } else {
                // Not written down: what follows the rows before.
                range.first = value_of(log_.accounted, block.series) + 1;
                range.last = range.first + block.values.size() - 1;
            }
            for (std::uint64_t value = range.first; value <= range.last; ++value) {
                values.push_back(value);
            }
        }
        return values;
    }

    void judge_acknowledged() {
        if (log_.acknowledged > last_sealable()) {
            warn() << "batch " << log_.acknowledged << " was acknowledged and never sealed";
        }
        // A stored batch is as good as the watermark: a gateway that starts finds both.
        for (std::uint64_t seq = stored_.watermark.value + 1; seq <= std::min(log_.acknowledged, last_sealable());
             ++seq) {
            if (!stored_seqs_.contains(seq) && !may_be_expired(seq)) {
                warn() << "acknowledged up to " << log_.acknowledged << ", but the watermark is "
                       << stored_.watermark.value << ", and " << seq << " is not there";
                break;
            }
        }
        std::uint64_t missing = 0;
        std::uint64_t first_missing = 0;
        for (std::uint64_t seq = 1; seq <= std::min(log_.acknowledged, last_sealable()); ++seq) {
            const bool is_given_up = log_.dropped.contains(seq) || log_.refused.contains(seq);
            if (!is_given_up && !stored_seqs_.contains(seq) && !may_be_expired(seq)) {
                first_missing = missing++ == 0 ? seq : first_missing;
            }
        }
        if (missing != 0) {
            warn() << missing << " acknowledged batches are not there, the first is " << first_missing << " of "
                   << log_.acknowledged;
        }
        if (log_.end == "finished" && log_.acknowledged < last_sealable()) {
            warn() << "the source finished with " << log_.acknowledged << " of " << last_sealable()
                   << " batches acknowledged";
        }
    }

    void judge_dropped() {
        for (const std::uint64_t seq : named_) {
            // A batch that was dropped between a Hello and its Welcome, which counted it already, appears in nothing
            // that was sent: but then it is there.
            if (!log_.dropped.contains(seq) && !stored_seqs_.contains(seq) && !may_be_expired(seq)) {
                warn() << "batch " << seq << " is named as dropped, and wasn't";
            }
        }
        if (!stored_.end.has_value() || !circumstances_.dropped_buckets.empty()) {
            return;  // the batch that names it may not be there (any more)
        }
        for (const std::uint64_t seq : log_.dropped) {
            if (!named_.contains(seq)) {
                warn() << "batch " << seq << " was dropped, and nobody names it";
            }
        }
    }

    // What each batch states of the session so far.
    void judge_counts() {
        for (const BatchRecord& batch : stored_.batches) {
            const auto sealed = log_.sealed.find(batch.seq.value);
            if (sealed == log_.sealed.end()) {
                continue;
            }
            for (const auto& [series, ignored] : log_.produced) {
                expect_count(batch, series, CountName::kProduced, value_of(sealed->second.produced, series));
                expect_count(batch, series, CountName::kLostRingFull, value_of(sealed->second.ring_full, series));
            }
        }
    }

    void expect_count(const BatchRecord& batch, Series series, CountName name, std::uint64_t expected) {
        const std::uint64_t told = count_of(batch.counts, series, name);
        if (told != expected) {
            warn() << "batch " << batch.seq.value << " says " << count_name(name) << ' ' << told << " of "
                   << name_of(series) << ", it was " << expected;
        }
    }

    // Produced = stored + expired + lost, and each of them equals the source's own count.
    void judge_ledger() {
        for (const auto& [series, produced_written] : log_.produced) {
            const std::span<const CountEntry> counts = stored_.end->counts;
            const std::uint64_t produced = count_of(counts, series, CountName::kProduced);
            // A killed source had stated the rows to produce, and not yet the fate of all of them.
            const std::uint64_t produced_min = log_.end.empty() ? value_of(log_.accounted, series) : produced_written;
            if (produced < produced_min || produced > produced_written) {
                warn() << name_of(series) << ": the end says produced " << produced << ", it was " << produced_written;
            }
            const std::uint64_t ring_full = count_of(counts, series, CountName::kLostRingFull);
            const std::uint64_t ring_full_min = value_of(log_.ring_full, series);
            if (ring_full < ring_full_min || ring_full > ring_full_min + unaccounted(series)) {
                warn() << name_of(series) << ": the end says lost(ring_full) " << ring_full << ", it was "
                       << value_of(log_.ring_full, series);
            }
            judge_sum(series, produced, judge_wire_losses(series));
        }
    }

    // Of an end that was made from the disk's state: nothing is counted that wasn't there.
    void judge_bounds() {
        for (const auto& [series, produced_written] : log_.produced) {
            std::uint64_t refused = 0;  // of these the disk may have both the record and the count
            for (const std::uint64_t seq : log_.refused) {
                refused += sealed_rows(seq, series);
            }
            const std::uint64_t produced_max = produced_written + refused;
            const std::span<const CountEntry> counts = stored_.end->counts;
            const std::uint64_t produced = count_of(counts, series, CountName::kProduced);
            const std::uint64_t lost = lost_of(counts, series);
            const std::uint64_t ring_full = count_of(counts, series, CountName::kLostRingFull);
            if (produced > produced_max || lost > produced) {
                warn() << name_of(series) << ": the end says produced " << produced << " and lost " << lost
                       << ", there were " << produced_written << " rows";
            }
            if (ring_full > value_of(log_.ring_full, series) + unaccounted(series)) {
                warn() << name_of(series) << ": the end says lost(ring_full) " << ring_full << ", it was "
                       << value_of(log_.ring_full, series);
            }
        }
    }

    // Rows of which a killed source didn't write down the fate.
    [[nodiscard]] std::uint64_t unaccounted(Series series) const {
        return log_.end.empty() ? value_of(log_.produced, series) - value_of(log_.accounted, series) : 0;
    }

    [[nodiscard]] std::uint64_t sealed_rows(std::uint64_t seq, Series series) const {
        const auto sealed = log_.sealed.find(seq);
        if (sealed == log_.sealed.end()) {
            return 0;
        }
        const auto rows = sealed->second.rows.find(series);
        return rows == sealed->second.rows.end() ? 0 : rows->second.size();
    }

    // How many more rows the end counts than those that are known to be dropped or refused. With partitions dropped
    // that may be: batches that arrived, were dropped by the collector all the same, and have expired since together
    // with the batch that named them.
    std::uint64_t judge_wire_losses(Series series) {
        std::set<std::uint64_t> gone = log_.dropped;
        gone.insert(named_.begin(), named_.end());
        gone.insert(log_.refused.begin(), log_.refused.end());
        std::uint64_t expected = 0;
        for (const std::uint64_t seq : gone) {
            expected += sealed_rows(seq, series);
        }
        const std::uint64_t told = count_of(stored_.end->counts, series, CountName::kLostSpoolFull) +
                                   count_of(stored_.end->counts, series, CountName::kLostRefused);
        std::uint64_t more_max = unaccounted(series);
        for (const auto& [seq, sealed] : log_.sealed) {
            more_max +=
                seq <= log_.acknowledged && !gone.contains(seq) && !stored_seqs_.contains(seq) && may_be_expired(seq)
                    ? sealed_rows(seq, series)
                    : 0;
        }
        if (told < expected || told > expected + more_max) {
            warn() << name_of(series) << ": the end says lost(spool_full, refused) " << told << ", it was " << expected;
        }
        return told > expected ? told - expected : 0;
    }

    void judge_sum(Series series, std::uint64_t produced, std::uint64_t lost_more) {
        std::uint64_t stored = 0;
        std::uint64_t held = 0;  // dropped or refused, and stored all the same
        for (const BatchRecord& batch : stored_.batches) {
            for (const BatchRecord::Rows& rows : batch.rows) {
                if (rows.series == series) {
                    stored += rows.row_count;
                    held += named_.contains(batch.seq.value) ? rows.row_count : 0;
                }
            }
        }
        // Arrived, was dropped by the collector all the same, and then expired: in two counts.
        std::uint64_t twice_max = circumstances_.dropped_buckets.empty() ? 0 : lost_more;
        std::set<std::uint64_t> dropped = log_.dropped;
        dropped.insert(named_.begin(), named_.end());
        for (const std::uint64_t seq : dropped) {
            twice_max += may_be_expired(seq) && !stored_seqs_.contains(seq) ? sealed_rows(seq, series) : 0;
        }
        const std::uint64_t expired = value_of(stored_.expired, series);
        const std::uint64_t lost = lost_of(stored_.end->counts, series);
        const std::uint64_t sum = stored + expired + lost - held;
        if (sum < produced || sum > produced + twice_max) {
            warn() << name_of(series) << ": produced " << produced << ", but stored " << stored << " + expired "
                   << expired << " + lost " << lost << " - held though dropped " << held << " = " << sum;
        }
        if (expired != 0 && circumstances_.dropped_buckets.empty()) {
            warn() << name_of(series) << ": " << expired << " rows expired, though no partition was dropped";
        }
    }

    const SourceLog& log_;
    const StoredSession& stored_;
    const Circumstances& circumstances_;
    std::set<std::uint64_t> stored_seqs_;
    std::set<std::uint64_t> named_;  // as dropped, by stored batches or the end
    std::vector<std::ostringstream> warnings_;
};

}  // namespace

std::vector<std::string> judge(const SourceLog& log, const StoredSession* stored, const Circumstances& circumstances) {
    if (circumstances.is_impostor) {
        if (!log.is_session_refused || log.acknowledged != 0) {
            return {"a session that describes itself otherwise than before was taken"};
        }
        return {};
    }
    if (stored == nullptr) {
        if (log.acknowledged != 0 || log.end == "finished") {
            return {"the store doesn't know the session, of which " + std::to_string(log.acknowledged) +
                    " batches were acknowledged"};
        }
        return {};
    }
    return Judge{log, *stored, circumstances}.judge();
}

}  // namespace perfleet::chaos
