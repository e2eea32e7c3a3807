#include "query-engine/scan/row_cursor.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "query-engine/scan/block_place.h"
#include "storage/limits/store_limits.h"

namespace perfleet {

EpochBlocks::EpochBlocks(const Scan& scan, std::size_t session_index, EpochNumber epoch, Series series,
                         const CoveredSeqs* covered)
    : scan_{&scan}, covered_{covered}, place_{session_index, epoch, series, {}, {}}, stretches_{stretches()} {}

// A block with a batch starts no earlier than the first batch that fits into kBlockRowsMax rows with it.
std::vector<EpochBlocks::Stretch> EpochBlocks::stretches() const {
    struct Window {
        Seq first;                                            // lowest first seq of a block with the next batch
        std::deque<std::pair<Seq, std::uint32_t>> batches{};  // from `first` on, with their row counts
        std::uint64_t row_count = 0;
        std::vector<Stretch> found{};
    };
    const ScannedSession& session = scan_->sessions_[place_.session_index];
    const auto epoch = session.epoch_batches.find(place_.epoch);
    const std::size_t earlier = epoch == session.epoch_batches.end() ? 0 : epoch->second.front().first;
    const Seq begin{earlier == 0 ? 0 : session.batches[earlier - 1].seq.value + 1};
    std::map<Partition, Window> windows;
    const auto add = [&](const Partition& partition, Seq seq, const BatchRecord::Rows& rows) {
        Window& window = windows.try_emplace(partition, Window{begin}).first->second;
        window.batches.emplace_back(seq, rows.row_count);
        window.row_count += rows.row_count;
        for (; window.row_count > limits::kBlockRowsMax; window.batches.pop_front()) {
            window.row_count -= window.batches.front().second;
            window.first = Seq{window.batches.front().first.value + 1};
        }
        if (!scan_->is_to_be_read(place_.session_index, seq, rows, covered_)) {
            return;
        }
        if (window.found.empty() || window.first.value > window.found.back().last.value + 1) {
            window.found.push_back({partition, window.first, seq});
        }
        window.found.back().last = seq;
    };
    scan_->each_batch(place_.session_index, place_.epoch, place_.series, add);
    std::vector<Stretch> all;
    for (auto window = windows.rbegin(); window != windows.rend(); ++window) {
        all.insert(all.end(), window->second.found.rbegin(), window->second.found.rend());
    }
    return all;
}

void EpochBlocks::pass(Seq next) {
    const auto is_here = [&] { return !stretches_.empty() && stretches_.back().partition == place_.partition; };
    while (is_here() && stretches_.back().last < next) {
        stretches_.pop_back();
    }
    if (!is_here()) {
        cursor_.reset();
    }
}

Result<bool> EpochBlocks::next() {
    const SessionRecord& record = scan_->sessions_[place_.session_index].record;
    for (;;) {
        if (error_) {
            return Error{*error_};
        }
        if (stretches_.empty()) {
            return false;
        }
        PERFLEET_TRY(scan_->go_on());
        if (!cursor_) {
            place_.partition = stretches_.back().partition;
            cursor_ = scan_->store_->blocks(place_.partition, record.target, record.session, place_.series);
            has_gap_ = false;
        }
        cursor_->seek(stretches_.back().first);
        const Result<BlockStep> at = cursor_->next();
        if (!at.ok() || at->step == CursorStep::kGap) {
            const Error& error = at.ok() ? at->gap : at.error();
            if (!is_store_damage(error)) {
                return Error{error};
            }
            if (!std::exchange(has_gap_, true)) {
                scan_->damage_->add_note(place_.session_index, error.message);
            }
        }
        if (!at.ok() || at->step == CursorStep::kEnd) {
            pass(Seq{~0ULL});
        } else if (at->step == CursorStep::kItem) {
            place_.first_seq = at->key.first_seq;
            pass(place_.first_seq);
            if (!cursor_ || place_.first_seq < stretches_.back().first) {
                continue;
            }
            const Seq last_seq = std::max(place_.first_seq, peek_last_seq_untrusted(at->value, place_.first_seq));
            if (scan_->batch_from(place_.session_index, place_.epoch, place_.partition, place_.first_seq, last_seq) !=
                nullptr) {  // else it is of another epoch, or was stored after the scan was opened
                bytes_untrusted_ = at->value;
                return true;
            }
        }
    }
}

void EpochBlocks::take(const Result<std::uint64_t>& row_count) {
    if (row_count.ok()) {
        row_count_ += *row_count;
        scan_->advance(place_.session_index, place_.epoch, place_.series, row_count_);
    } else if (is_store_damage(row_count.error())) {
        scan_->damage_->add_note(place_.session_index, row_count.error().message);
    } else {
        error_ = row_count.error();
    }
}

void EpochBlocks::finish() const {
    scan_->count_unseen(place_.session_index, place_.epoch, place_.series, covered_, row_count_);
}

RowCursor::RowCursor(const Scan& scan, std::size_t session_index, std::vector<EpochNumber> epochs, Series series,
                     std::span<const ColumnId> wanted, RowsWanted span, const CoveredSeqs* covered)
    : scan_{&scan},
      session_index_{session_index},
      epochs_{std::move(epochs)},
      series_{series},
      covered_{covered},
      wanted_{std::in_place, wanted.begin(), wanted.end()},
      rows_{scan, covered, span},
      share_{scan.memory()} {
    std::reverse(epochs_.begin(), epochs_.end());
}

RowBlock* RowCursor::next() {
    if (error_) {
        return nullptr;
    }
    Result<RowBlock*> block = advance();
    if (!block.ok()) {
        error_ = std::move(block).error();
        return nullptr;
    }
    return *block;
}

Result<RowBlock*> RowCursor::advance() {
    for (;;) {
        if (is_open_) {
            Result<RowBlock*> block = rows_.next(wanted_);
            share_.set(rows_.size_bytes());
            PERFLEET_TRY(share_.check());
            if (block.ok() && *block != nullptr) {
                return block;
            }
            is_open_ = false;
            blocks_->take(block.ok() ? Result<std::uint64_t>{rows_.expected_row_count()} : block.error());
        }
        if (!blocks_) {
            if (epochs_.empty()) {
                return nullptr;
            }
            blocks_.emplace(*scan_, session_index_, epochs_.back(), series_, covered_);
            epochs_.pop_back();
        }
        const auto is_any = PERFLEET_TRY(blocks_->next());
        if (!is_any) {
            blocks_->finish();
            blocks_.reset();
            continue;
        }
        const Result<Done> opened = rows_.open(blocks_->place(), blocks_->bytes_untrusted());
        is_open_ = opened.ok();
        if (!opened.ok()) {
            blocks_->take(opened.error());
        }
    }
}

}  // namespace perfleet
