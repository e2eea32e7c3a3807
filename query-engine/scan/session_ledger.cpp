#include "query-engine/scan/session_ledger.h"

#include <algorithm>
#include <array>

#include "query-engine/select/selection.h"

namespace perfleet {
namespace {

constexpr CountName kLostSpoolFull = CountName::kLostSpoolFull;

// Losses of whole batches: reported later than the batch's place among the seqs.
constexpr std::array kBatchLosses{kLostSpoolFull, CountName::kLostRefused, CountName::kLostQuota,
                                  CountName::kLostUnflushed, CountName::kLostKilled};

bool is_batch_loss(CountName name) {
    return std::find(kBatchLosses.begin(), kBatchLosses.end(), name) != kBatchLosses.end();
}

std::string reason_of(CountName name) { return std::string{count_name(name)}; }

std::uint64_t difference(std::uint64_t greater, std::uint64_t lesser) {
    return greater > lesser ? greater - lesser : 0;
}

std::uint64_t count_of(std::span<const CountEntry> entries, Series series, CountName name) {
    for (const CountEntry& entry : entries) {
        if (entry.series == series && entry.name == name) {
            return entry.value;
        }
    }
    return 0;
}

std::uint64_t expired_rows(const ScannedSession& session, Series series) {
    for (const auto& [expired_series, rows] : session.expired) {
        if (expired_series == series) {
            return rows;
        }
    }
    return 0;
}

// Every seq that the session ever reported as dropped: disjoint ranges, ascending.
std::vector<SeqRange> dropped_ranges(const ScannedSession& session) {
    std::vector<SeqRange> ranges;
    for (const BatchRecord& batch : session.batches) {
        ranges.insert(ranges.end(), batch.dropped.begin(), batch.dropped.end());
    }
    if (session.end) {
        ranges.insert(ranges.end(), session.end->dropped.begin(), session.end->dropped.end());
    }
    std::sort(ranges.begin(), ranges.end());
    std::vector<SeqRange> merged;
    for (const SeqRange& range : ranges) {
        if (range.last < range.first) {
            continue;
        }
        if (!merged.empty() && range.first <= merged.back().last) {
            merged.back().last = std::max(merged.back().last, range.last);
        } else {
            merged.push_back(range);
        }
    }
    return merged;
}

bool any_within(const std::vector<SeqRange>& ranges, Seq first, Seq last) {
    const auto range = std::lower_bound(ranges.begin(), ranges.end(), first,
                                        [](const SeqRange& candidate, Seq seq) { return candidate.last < seq; });
    return range != ranges.end() && range->first <= last;
}

struct OwnRows {
    std::uint64_t row_count = 0;
    Ticks first{~0ULL};
    Ticks last{0};
};

OwnRows rows_of(const BatchRecord& batch, Series series) {
    OwnRows own;
    for (const BatchRecord::Rows& rows : batch.rows) {
        if (rows.series == series) {
            own.row_count += rows.row_count;
            own.first = std::min(own.first, rows.first_ticks);
            own.last = std::max(own.last, rows.last_ticks);
        }
    }
    return own;
}

void take_off(Ledger& ledger, const std::string& reason, std::uint64_t& row_count) {
    const auto lost = ledger.lost.find(reason);
    if (lost == ledger.lost.end()) {
        return;
    }
    const std::uint64_t taken = std::min(lost->second, row_count);
    lost->second -= taken;
    row_count -= taken;
    if (lost->second == 0) {
        ledger.lost.erase(lost);
    }
}

std::uint64_t lost_rows(const Ledger& ledger) {
    std::uint64_t sum = 0;
    for (const auto& [reason, rows] : ledger.lost) {
        sum += rows;
    }
    return sum;
}

void add_unexplained(const ScannedSession& session, std::uint64_t row_count, Ledger& ledger) {
    if (row_count == 0) {
        return;
    }
    if (session.is_damaged) {
        ledger.lost["damaged"] += row_count;
    } else if (session.end) {
        ledger.lost["missing"] += row_count;
    } else {
        ledger.pending += row_count;
    }
}

// Walks the batches in the order of their seqs and shares out what each added to the entries.
class RangeLedger {
public:
    RangeLedger(const ScannedSession& session, Series series, std::pair<Ticks, Ticks> range, const Ledger& whole)
        : session_{session},
          series_{series},
          range_{range},
          dropped_{dropped_ranges(session)},
          unplaced_{whole},
          known_until_{session.record.start_point.ticks} {}

    Ledger make() {
        for (const BatchRecord& batch : session_.batches) {
            Ticks last = known_until_;
            for (const BatchRecord::Rows& rows : batch.rows) {
                last = std::max(last, rows.last_ticks);
            }
            step(batch.seq, batch.counts, rows_of(batch, series_), last);
        }
        if (session_.end) {
            step(Seq{~0ULL}, session_.end->counts, OwnRows{}, std::max(known_until_, session_.end->end_point.ticks));
        } else {
            step_to_expired();
        }
        return std::move(ledger_);
    }

private:
    void step(Seq seq, std::span<const CountEntry> entries, const OwnRows& own, Ticks known_until) {
        const bool counts = overlaps(known_until_, known_until);
        std::uint64_t reported = 0;
        for (const CountEntry& entry : entries) {
            if (entry.series != series_ || !is_loss(entry.name) || is_batch_loss(entry.name)) {
                continue;
            }
            const std::uint64_t added = difference(entry.value, count_of(counts_, series_, entry.name));
            reported += added;
            if (counts && added != 0) {
                ledger_.produced += added;
                ledger_.lost[reason_of(entry.name)] += added;
            }
        }
        const std::uint64_t produced = difference(count_of(entries, series_, CountName::kProduced),
                                                  count_of(counts_, series_, CountName::kProduced));
        place_gap(Seq{seq_.value + 1}, Seq{seq.value - 1}, difference(produced, own.row_count + reported), counts);
        if (own.row_count != 0 && overlaps(own.first, own.last)) {
            ledger_.produced += own.row_count;
            ledger_.stored += own.row_count;
            const bool is_cut = own.first < range_.first || own.last >= range_.second;
            ledger_.of_cut_batches += is_cut ? own.row_count : 0;
        }
        seq_ = seq;
        counts_ = entries;
        known_until_ = known_until;
    }

    // For a session without a clean end: rows that expired after its last stored batch.
    void step_to_expired() {
        const std::uint64_t row_count = unplaced_.expired;
        if (row_count == 0 || !session_.last_expired_bucket) {
            return;
        }
        const std::int64_t end_s = (std::int64_t{session_.last_expired_bucket->value} + 1) * kBucketDurationS;
        const Ticks end = session_.clock.ticks_of(UtcNs{end_s * kNsPerSecond});
        place_gap(Seq{seq_.value + 1}, Seq{~0ULL}, row_count, overlaps(known_until_, std::max(known_until_, end)));
    }

    // Accounts for the rows of batches first..last, which aren't stored.
    void place_gap(Seq first, Seq last, std::uint64_t row_count, bool counts) {
        if (row_count == 0) {
            return;
        }
        if (counts) {
            ledger_.produced += row_count;
        }
        const auto place = [&](const std::string& reason) {
            const std::uint64_t before = row_count;
            take_off(unplaced_, reason, row_count);
            if (counts && before != row_count) {
                ledger_.lost[reason] += before - row_count;
            }
        };
        if (any_within(dropped_, first, last)) {
            place(reason_of(kLostSpoolFull));
        }
        const std::uint64_t expired = std::min(unplaced_.expired, row_count);
        unplaced_.expired -= expired;
        row_count -= expired;
        if (counts) {
            ledger_.expired += expired;
        }
        for (const CountName name : kBatchLosses) {
            place(reason_of(name));
        }
        if (counts) {
            add_unexplained(session_, row_count, ledger_);
        }
    }

    [[nodiscard]] bool overlaps(Ticks first, Ticks last) const { return first < range_.second && last >= range_.first; }

    const ScannedSession& session_;
    Series series_;
    std::pair<Ticks, Ticks> range_;
    std::vector<SeqRange> dropped_;
    Ledger unplaced_;  // losses of the whole session that this walk hasn't reached yet
    Ledger ledger_;

    Seq seq_{};
    std::span<const CountEntry> counts_;
    Ticks known_until_;
};

}  // namespace

std::span<const CountEntry> last_counts(const ScannedSession& session) {
    if (session.end) {
        return session.end->counts;
    }
    return session.batches.empty() ? std::span<const CountEntry>{} : session.batches.back().counts;
}

bool has_clean_end(const ScannedSession& session) {
    return session.end &&
           std::none_of(session.end->counts.begin(), session.end->counts.end(), [](const CountEntry& entry) {
               return entry.name == CountName::kUncleanEnd && entry.value != 0;
           });
}

std::uint64_t last_entry(const ScannedSession& session, Series series, CountName name) {
    return count_of(last_counts(session), series, name);
}

Ledger session_ledger(const ScannedSession& session, Series series, std::vector<std::string>& warnings) {
    Ledger ledger;
    ledger.produced = last_entry(session, series, CountName::kProduced);
    ledger.expired = expired_rows(session, series);
    if (session.batches.empty() && !session.end) {  // the batches that reported `produced` have expired, too
        ledger.produced = ledger.expired;
    }
    for (const CountEntry& entry : last_counts(session)) {
        if (entry.series == series && is_loss(entry.name) && entry.value != 0) {
            ledger.lost[reason_of(entry.name)] += entry.value;
        }
    }
    // A dropped batch may have arrived all the same: then it isn't lost.
    const std::vector<SeqRange> dropped = dropped_ranges(session);
    std::uint64_t held = 0;
    for (const BatchRecord& batch : session.batches) {
        const std::uint64_t row_count = rows_of(batch, series).row_count;
        ledger.stored += row_count;
        if (row_count != 0 && any_within(dropped, batch.seq, batch.seq)) {
            held += row_count;
        }
    }
    take_off(ledger, reason_of(kLostSpoolFull), held);

    const std::uint64_t accounted = ledger.stored + ledger.expired + lost_rows(ledger);
    add_unexplained(session, difference(ledger.produced, accounted), ledger);
    std::uint64_t surplus = difference(accounted, ledger.produced);
    // Batches that arrived before they were dropped or refused, and have expired since, are counted twice.
    for (const CountName name : kBatchLosses) {
        take_off(ledger, reason_of(name), surplus);
    }
    if (surplus != 0) {
        ledger.produced += surplus;
        warnings.push_back("session " + session_hex(session.record.session) + ": of " +
                           std::string{kind_name(series.kind)} + " rows " + std::to_string(surplus) +
                           " more are accounted for than it says it produced");
    }
    return ledger;
}

Ledger session_ledger_between(const ScannedSession& session, Series series, std::pair<Ticks, Ticks> range,
                              std::vector<std::string>& warnings) {
    const Ledger whole = session_ledger(session, series, warnings);
    return RangeLedger{session, series, range, whole}.make();
}

}  // namespace perfleet
