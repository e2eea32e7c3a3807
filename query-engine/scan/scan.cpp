#include "query-engine/scan/scan.h"

#include <algorithm>
#include <thread>

#include "query-engine/scan/block_place.h"
#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/session_choice.h"
#include "query-engine/scan/session_ledger.h"
#include "schemas/vocabulary/call_chain_limits.h"
#include "schemas/vocabulary/off_cpu.h"
#include "storage/dictionary/anonymous_names.h"

namespace perfleet {
namespace {

constexpr unsigned kWorkersMax = 64;
// A partition's session list grows with the fleet. Up to this many sessions are looked up by their batches instead:
// about as fast as reading three records of the list for each.
constexpr std::size_t kLooksMax = 8;

std::size_t size_bytes_of(const BatchRecord& batch) {
    return sizeof(batch) + sizeof(Partition) + batch.counts.capacity() * sizeof(CountEntry) +
           batch.dropped.capacity() * sizeof(SeqRange) + batch.clock_points.capacity() * sizeof(ClockPoint) +
           batch.rows.capacity() * sizeof(BatchRecord::Rows);
}

// Reads the batch records and clock points of one session in one partition. Stops if the memory is exceeded.
Result<Done> read_batches(const StoreReader& store, const Partition& partition, const QueryMemory& memory,
                          MemoryShare& share, ScannedSession& session) {
    return store.visit_batches(partition, session.record.target, session.record.session, [&](const BatchRecord& batch) {
        session.batches.push_back(batch);
        session.batch_partitions.push_back(partition);
        share.add(size_bytes_of(session.batches.back()));
        return memory.is_exceeded() ? Visit::kStop : Visit::kContinue;
    });
}

// The `wanted` sessions in the partition's list; all of them if the list is damaged, for any may be in the partition.
Result<std::vector<SessionName>> listed_in(const StoreReader& store, const Partition& partition,
                                           std::span<const SessionName> wanted) {
    const std::size_t known_damage = store.damage().size();
    const auto listed = PERFLEET_TRY(store.session_names(partition));
    std::vector<SessionName> found{wanted.begin(), wanted.end()};
    if (store.damage().size() == known_damage) {
        std::erase_if(found,
                      [&](const SessionName& key) { return !std::binary_search(listed.begin(), listed.end(), key); });
    }
    return found;
}

// Sorts the batches by seq. Of two with the same seq (in two partitions, from a faulty collector) the first is kept.
void order_batches(ScannedSession& session) {
    std::vector<std::size_t> order(session.batches.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return session.batches[a].seq < session.batches[b].seq; });
    std::vector<BatchRecord> batches;
    std::vector<Partition> partitions;
    batches.reserve(order.size());
    partitions.reserve(order.size());
    for (const std::size_t i : order) {
        if (batches.empty() || batches.back().seq != session.batches[i].seq) {
            batches.push_back(std::move(session.batches[i]));
            partitions.push_back(session.batch_partitions[i]);
        }
    }
    session.batches = std::move(batches);
    session.batch_partitions = std::move(partitions);
}

void summarise_batches(ScannedSession& session) {
    std::set<Partition> partitions;
    std::set<EpochNumber> epochs;
    std::set<Series> series;
    std::vector<ClockPoint> points{session.record.start_point};
    for (std::size_t i = 0; i < session.batches.size(); ++i) {
        const BatchRecord& batch = session.batches[i];
        epochs.insert(batch.epoch);
        auto& ranges = session.epoch_batches[batch.epoch];
        if (!ranges.empty() && ranges.back().second == i) {
            ++ranges.back().second;
        } else {
            ranges.emplace_back(i, i + 1);
        }
        points.insert(points.end(), batch.clock_points.begin(), batch.clock_points.end());
        for (const BatchRecord::Rows& rows : batch.rows) {
            if (rows.row_count != 0) {
                series.insert(rows.series);
                partitions.insert(session.batch_partitions[i]);
            }
        }
    }
    if (session.end) {
        points.push_back(session.end->end_point);
    }
    session.clock = ClockMap{session.record.ticks_per_second, std::move(points)};
    session.partitions.assign(partitions.begin(), partitions.end());
    session.epochs.assign(epochs.begin(), epochs.end());
    session.series.assign(series.begin(), series.end());
}

bool holds_from_then_on(Series series) { return traits_of(series.kind).holds == RowSpan::kFromThenOn; }

// From the first to the last row that is a sample in perf.data; without such rows, of the counter readings; both 0
// without either.
TickRange measured_ticks(const ScannedSession& session) {
    for (const RowSpan holds : {RowSpan::kAtItsTime, RowSpan::kUntilItsTime}) {
        TickRange range{Ticks{~0ULL}, Ticks{0}};
        for (const BatchRecord& batch : session.batches) {
            for (const BatchRecord::Rows& rows : batch.rows) {
                const KindTraits& kind = traits_of(rows.series.kind);
                if (kind.is_measured && kind.holds == holds && rows.row_count != 0) {
                    range = {std::min(range.first, rows.first_ticks), std::max(range.second, rows.last_ticks)};
                }
            }
        }
        if (range.first <= range.second) {
            return range;
        }
    }
    return {};
}

}  // namespace

Scan::Scan(const StoreReader& store, Selection selection, QueryContext* context)
    : store_{&store},
      context_{context},
      selection_{std::move(selection)},
      filters_{std::make_shared<RowFilters>(selection_.filter)},
      memory_{std::make_shared<QueryMemory>(selection_.memory_size_bytes_max,
                                            context == nullptr ? nullptr : context->pool())},
      batches_share_{*memory_} {
    selection_.is_exact = selection_.is_exact || selection_.filter.has_rows() || selection_.filter.has_frames();
    worker_count_ = selection_.thread_count != 0 ? selection_.thread_count : std::thread::hardware_concurrency();
    worker_count_ = std::clamp(worker_count_, 1U, kWorkersMax);
}

Result<Scan> Scan::open(const StoreReader& store, const Selection& selection, QueryContext* context) {
    Scan scan{store, selection, context};
    const auto filter = PERFLEET_TRY(SessionFilter::make(selection.matchers));
    auto chosen_sessions = PERFLEET_TRY(noted_sessions(store, &filter, scan.memory_.get()));
    PERFLEET_TRY(choose_session(selection.session, chosen_sessions, selection.use));
    if (selection.reads_large_texts) {
        PERFLEET_TRY(complete_records(store, chosen_sessions, *scan.memory_));
    }
    scan.batches_share_.add(size_bytes_of(chosen_sessions));
    std::map<SessionName, std::size_t> indices;
    for (auto& [key, noted] : chosen_sessions) {
        PERFLEET_TRY(scan.go_on());
        if (!noted.note.is_removed) {  // a removed session has no rows
            indices.emplace(key, scan.sessions_.size());
        }
        ScannedSession session{
            std::move(noted.record), ClockMap{0, {}}, {}, {}, {}, {}, {}, std::nullopt, {}, {}, false};
        session.note = std::move(noted.note);
        if (selection.is_anonymous) {
            anonymise(session.record);
        }
        session.is_damaged = store.has_lost_logs();
        const auto note = [&](const Error& error) {
            session.is_damaged = true;
            scan.damage_->add_note(scan.sessions_.size(), error.message);
        };
        Result<std::optional<SessionEnd>> end = store.session_end(key.target, key.session);
        if (!end.ok() && !is_store_damage(end.error())) {
            return std::move(end).error();
        }
        if (end.ok()) {
            session.end = std::move(end).value();
        } else {
            note(end.error());
        }
        auto expired = store.expired(key.target, key.session);
        if (!expired.ok() && !is_store_damage(expired.error())) {
            return std::move(expired).error();
        }
        if (expired.ok()) {
            session.expired = std::move(expired).value();
        } else {
            note(expired.error());
        }
        auto last_expired = store.last_expired_bucket(key.target, key.session);
        if (!last_expired.ok() && !is_store_damage(last_expired.error())) {
            return std::move(last_expired).error();
        }
        session.last_expired_bucket = last_expired.ok() ? *last_expired : std::nullopt;
        scan.sessions_.push_back(std::move(session));
    }

    const auto partitions = PERFLEET_TRY(store.partitions());
    std::map<std::uint16_t, std::vector<SessionName>> by_shard;
    for (const auto& [key, index] : indices) {
        by_shard[shard_of(key.target, store.shards())].push_back(key);
    }
    for (const Partition& partition : partitions) {
        const auto chosen = by_shard.find(partition.shard);
        if (chosen == by_shard.end()) {
            continue;
        }
        Result<std::vector<SessionName>> keys = chosen->second;
        if (keys->size() > kLooksMax) {
            keys = listed_in(store, partition, chosen->second);
        }
        if (!keys.ok()) {
            return std::move(keys).error();
        }
        for (const SessionName& key : *keys) {
            PERFLEET_TRY(scan.go_on());
            const std::size_t index = indices.at(key);
            ScannedSession& session = scan.sessions_[index];
            Result<Done> read = read_batches(store, partition, *scan.memory_, scan.batches_share_, session);
            if (scan.memory_->is_exceeded()) {
                return scan.memory_->exceeded();
            }
            if (!read.ok() && !is_store_damage(read.error())) {
                return std::move(read).error();
            }
            if (!read.ok()) {  // a damaged partition affects only sessions that have data in it
                const auto listed = PERFLEET_TRY(listed_in(store, partition, {&key, 1}));
                if (!listed.empty()) {
                    session.is_damaged = true;
                    scan.damage_->add_note(index, read.error().message);
                }
            }
        }
    }
    for (ScannedSession& session : scan.sessions_) {
        order_batches(session);
        summarise_batches(session);
        if (selection.window) {
            const auto [first, last] = measured_ticks(session);
            const TickRange range = selection.window->ticks(session.record.ticks_per_second, first, last);
            const UtcNs from = session.clock.utc_of(range.first);
            const UtcNs to = session.clock.utc_of(range.second);
            scan.selection_.from = std::min(from, scan.selection_.from.value_or(from));
            scan.selection_.to = std::max(to, scan.selection_.to.value_or(to));
            scan.tick_ranges_.push_back(range);
            continue;
        }
        const Ticks first = selection.from ? session.clock.ticks_of(*selection.from) : Ticks{0};
        const Ticks last = selection.to ? session.clock.ticks_of(*selection.to) : Ticks{~0ULL};
        scan.tick_ranges_.emplace_back(first, last);
    }
    scan.expect_rows();
    return scan;
}

void Scan::expect_rows() const {
    for (std::size_t index = 0; context_ != nullptr && index < sessions_.size(); ++index) {
        for (const BatchRecord& batch : sessions_[index].batches) {
            for (const BatchRecord::Rows& rows : batch.rows) {
                if (is_to_be_read(index, batch.seq, rows, nullptr)) {
                    context_->expect(rows.series.kind, rows.row_count);
                }
            }
        }
    }
}

void Scan::advance(std::size_t session_index, EpochNumber epoch, Series series, std::uint64_t row_count) const {
    if (context_ != nullptr) {
        context_->advance({this, session_index, epoch, series}, row_count);
    }
}

std::pair<Ticks, Ticks> Scan::tick_range(std::size_t session_index) const { return tick_ranges_[session_index]; }

std::optional<std::pair<Ticks, Ticks>> Scan::ticks_of(std::size_t session_index, std::span<const Series> series) const {
    const TickRange& range = tick_ranges_[session_index];
    std::optional<std::pair<Ticks, Ticks>> found;
    for (const BatchRecord& batch : sessions_[session_index].batches) {
        for (const BatchRecord::Rows& rows : batch.rows) {
            if (std::find(series.begin(), series.end(), rows.series) == series.end() ||
                side_of(rows.first_ticks, rows.last_ticks, range) == Side::kOutside) {
                continue;
            }
            const Ticks first = std::max(rows.first_ticks, range.first);
            const Ticks last = std::min(rows.last_ticks, range.second);
            found = found ? std::pair{std::min(found->first, first), std::max(found->second, last)}
                          : std::pair{first, last};
        }
    }
    return found;
}

bool Scan::is_selected(std::size_t session_index, Series series) const {
    if (!selection_.event) {
        return true;
    }
    const EventRecord* const event = sessions_[session_index].record.event_at(series.event);
    return event != nullptr &&
           (event->name == *selection_.event || (selection_.is_off_cpu && event->name == off_cpu::kRunnable));
}

std::optional<TickRange> Scan::cut_of(std::size_t session_index, const BlockHeader& header, RowsWanted span) const {
    TickRange range = tick_ranges_[session_index];
    if (span == RowsWanted::kUpToItsEnd) {
        range = {Ticks{0}, range.second == Ticks{~0ULL} ? range.second : Ticks{range.second.value + 1}};
    }
    const bool is_cut =
        !holds_from_then_on(header.series) && side_of(header.first_ticks, header.last_ticks, range) != Side::kInside;
    return is_cut ? std::optional{range} : std::nullopt;
}

bool Scan::is_pruned(std::size_t session_index, Series series, Ticks first, Ticks last) const {
    if (holds_from_then_on(series)) {
        return false;
    }
    const auto& [range_first, range_last] = tick_ranges_[session_index];
    if (traits_of(series.kind).holds == RowSpan::kUntilItsTime) {
        return first > range_last;  // earlier readings are kept: counting starts from the last one before the range
    }
    return last < range_first || (first >= range_last && range_last != Ticks{~0ULL});
}

bool Scan::is_to_be_read(std::size_t session_index, Seq seq, const BatchRecord::Rows& rows,
                         const CoveredSeqs* covered) const {
    return (covered == nullptr || !covered->has(seq)) &&
           !is_pruned(session_index, rows.series, rows.first_ticks, rows.last_ticks);
}

void Scan::each_batch(std::size_t session_index, EpochNumber epoch, Series series,
                      const std::function<void(const Partition&, Seq, const BatchRecord::Rows&)>& visitor) const {
    const ScannedSession& session = sessions_[session_index];
    const auto ranges = session.epoch_batches.find(epoch);
    if (ranges == session.epoch_batches.end()) {
        return;
    }
    for (const auto& [first, last] : ranges->second) {
        for (std::size_t i = first; i < last; ++i) {
            for (const BatchRecord::Rows& rows : session.batches[i].rows) {
                if (rows.series == series && rows.row_count != 0) {
                    visitor(session.batch_partitions[i], session.batches[i].seq, rows);
                }
            }
        }
    }
}

std::map<Partition, std::uint64_t> Scan::expected_rows(std::size_t session_index, EpochNumber epoch, Series series,
                                                       const CoveredSeqs* covered) const {
    std::map<Partition, std::uint64_t> expected;
    each_batch(session_index, epoch, series, [&](const Partition& partition, Seq seq, const BatchRecord::Rows& rows) {
        if (is_to_be_read(session_index, seq, rows, covered)) {
            expected[partition] += rows.row_count;
        }
    });
    return expected;
}

const BatchRecord* Scan::batch_from(std::size_t session_index, EpochNumber epoch, const Partition& partition, Seq first,
                                    Seq last) const {
    const ScannedSession& session = sessions_[session_index];
    auto batch = std::lower_bound(session.batches.begin(), session.batches.end(), first,
                                  [](const BatchRecord& record, Seq seq) { return record.seq < seq; });
    for (; batch != session.batches.end() && batch->seq <= last; ++batch) {
        if (batch->epoch == epoch &&
            session.batch_partitions[static_cast<std::size_t>(batch - session.batches.begin())] == partition) {
            return &*batch;
        }
    }
    return nullptr;
}

bool Scan::was_dropped(std::size_t session_index, EpochNumber epoch) const {
    const ScannedSession& session = sessions_[session_index];
    const auto notes = store_->session_notes();
    const auto note = notes.ok() ? notes->find({session.record.target, session.record.session}) : notes->end();
    if (notes.ok() && note != notes->end() && note->second.is_removed) {
        return true;
    }
    const Result<std::vector<Partition>> partitions = store_->partitions();
    for (std::size_t i = 0; partitions.ok() && i < session.batches.size(); ++i) {
        if (session.batches[i].epoch == epoch &&
            !std::binary_search(partitions->begin(), partitions->end(), session.batch_partitions[i])) {
            return true;
        }
    }
    return false;
}

void Scan::count_unseen(std::size_t session_index, EpochNumber epoch, Series series, const CoveredSeqs* covered,
                        std::uint64_t row_count) const {
    std::uint64_t expected = 0;
    for (const auto& [partition, rows] : expected_rows(session_index, epoch, series, covered)) {
        expected += rows;
    }
    if (row_count >= expected) {
        return;
    }
    if (was_dropped(session_index, epoch)) {
        damage_->add_rows(session_index, epoch, series, ScanDamage::Why::kExpired, expected - row_count);
        damage_->add_note(session_index, block_place(sessions_[session_index].record, series, Seq{0}) + ": epoch " +
                                             std::to_string(epoch.value) + " expired while it was read");
        return;
    }
    damage_->add_rows(session_index, epoch, series, ScanDamage::Why::kDamaged, expected - row_count);
    damage_->add_note(session_index, block_place(sessions_[session_index].record, series, Seq{0}) + ": epoch " +
                                         std::to_string(epoch.value) + " has " + std::to_string(row_count) +
                                         " rows where its batches name " + std::to_string(expected) +
                                         "; blocks are damaged or missing");
}

Result<std::shared_ptr<const EpochDictionary>> Scan::dictionary(std::size_t session_index, EpochNumber epoch,
                                                                std::span<const Kind> kinds) const {
    auto dictionary = std::make_shared<EpochDictionary>();
    for (const Kind kind : kinds) {
        const Series series{kind, kNoEvent};
        if (kind == Kind::kStack) {
            std::uint64_t stack_count = 0;
            for (const auto& [partition, rows] : expected_rows(session_index, epoch, series)) {
                stack_count += rows;
            }
            dictionary->expect_stacks(stack_count);
        }
        EpochBlocks blocks{*this, session_index, epoch, series, nullptr};
        for (Result<bool> is_any = blocks.next(); !is_any.ok() || *is_any; is_any = blocks.next()) {
            if (!is_any.ok()) {
                return Error{is_any.error()};
            }
            const Result<BlockView> block = parse_block(blocks.place(), blocks.bytes_untrusted());
            const Result<Share> share = block.ok() ? share_of(session_index, blocks.place().partition, *block, nullptr)
                                                   : Result<Share>{block.error()};
            Result<std::uint64_t> row_count =
                share.ok() ? Result<std::uint64_t>{share->expected_row_count} : share.error();
            if (const Result<Done> added = share.ok() ? dictionary->add(*block) : Done{}; !added.ok()) {
                row_count = at_block(sessions_[session_index].record, blocks.place(), added.error());
            }
            blocks.take(row_count);
        }
        blocks.finish();
    }
    if (const DefinitionFaults faults = dictionary->finish(); !faults.ok()) {
        note_faults(session_index, epoch, faults);
    }
    if (selection_.is_anonymous) {
        anonymise(*dictionary);
    }
    return std::shared_ptr<const EpochDictionary>{std::move(dictionary)};
}

void Scan::note_left_out(std::size_t session_index, const std::string& what) const {
    const ScannedSession& session = sessions_[session_index];
    damage_->add_note(session_index, "session " + session_hex(session.record.session) + " of " +
                                         session.record.target_name + ": " + what);
}

void Scan::leave_out(std::size_t session_index, Series series, const std::string& what) const {
    damage_->leave_out(session_index, series);
    note_left_out(session_index, what);
}

void Scan::note_faults(std::size_t session_index, EpochNumber epoch, const DefinitionFaults& faults) const {
    const std::string place = "session " + session_hex(sessions_[session_index].record.session) + ", epoch " +
                              std::to_string(epoch.value) + ": ";
    if (faults.cut_count != 0) {
        damage_->add_note(session_index, place + "the callers of " + std::to_string(faults.cut_count) +
                                             " frames, more than " + std::to_string(limits::kStackChainMax) +
                                             " in a call chain; " + std::string{kCutChainName} + " stands for them");
    }
    if (faults.conflicting_count != 0) {
        damage_->add_note(session_index, place + std::to_string(faults.conflicting_count) +
                                             " definitions of a stack, image or string that its collector had defined "
                                             "otherwise; the first definition stands");
    }
}

std::vector<Series> Scan::ledger_series(std::size_t session_index) const {
    const ScannedSession& session = sessions_[session_index];
    std::set<Series> all{session.series.begin(), session.series.end()};
    for (const CountEntry& entry : last_counts(session)) {
        all.insert(entry.series);
    }
    for (const auto& [series, rows] : session.expired) {
        all.insert(series);
    }
    std::erase_if(all, [](const Series& series) { return is_definition(series.kind); });
    return {all.begin(), all.end()};
}

Ledger Scan::ledger(std::size_t session_index, Series series, std::vector<std::string>& warnings) const {
    const ScannedSession& session = sessions_[session_index];
    Ledger ledger = selection_.from || selection_.to
                        ? session_ledger_between(session, series, tick_ranges_[session_index], warnings)
                        : session_ledger(session, series, warnings);
    const auto take_off_stored = [&](ScanDamage::Why why) {
        const std::uint64_t row_count = std::min(damage_->rows(session_index, series, why), ledger.stored);
        ledger.stored -= row_count;
        return row_count;
    };
    if (const std::uint64_t row_count = take_off_stored(ScanDamage::Why::kDamaged); row_count != 0) {
        ledger.lost["damaged"] += row_count;
    }
    ledger.expired += take_off_stored(ScanDamage::Why::kExpired);
    ledger.of_cut_batches = std::min(ledger.of_cut_batches, ledger.stored);
    ledger.is_lower_bound = !has_clean_end(session) || store_->has_lost_logs();
    for (std::string& note : damage_->notes(session_index)) {
        warnings.push_back("not readable: " + std::move(note));
    }
    return ledger;
}

Ledger Scan::ledger(std::size_t session_index, std::span<const Kind> kinds, std::vector<std::string>& warnings) const {
    Ledger sum;
    for (const Series& series : ledger_series(session_index)) {
        const bool wanted = kinds.empty() || std::find(kinds.begin(), kinds.end(), series.kind) != kinds.end();
        if (wanted && is_selected(session_index, series)) {
            sum.add(ledger(session_index, series, warnings));
        }
    }
    const ScannedSession& session = sessions_[session_index];
    if (!has_clean_end(session)) {
        warnings.push_back("session " + session_hex(session.record.session) + " of " + session.record.target_name +
                           " has no clean end: it is still running, or it stopped uncleanly and its last rows are "
                           "unknown");
    }
    return sum;
}

}  // namespace perfleet
