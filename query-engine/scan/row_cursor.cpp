#include "query-engine/scan/row_cursor.h"

#include <algorithm>
#include <utility>

#include "query-engine/scan/block_place.h"

namespace perfleet {

EpochBlocks::EpochBlocks(const Scan& scan, std::size_t session_index, EpochNumber epoch, Series series,
                         const RowsLeft* left)
    : scan_{&scan}, left_{left}, place_{session_index, epoch, series, {}, {}} {
    for (const auto& [partition, row_count] : scan.expected_rows(session_index, epoch, series, left)) {
        partitions_.push_back(partition);
    }
    std::reverse(partitions_.begin(), partitions_.end());
}

Result<bool> EpochBlocks::next() {
    const SessionRecord& record = scan_->sessions_[place_.session_index].record;
    for (;;) {
        if (error_) {
            return Error{*error_};
        }
        if (!cursor_) {
            if (partitions_.empty()) {
                return false;
            }
            place_.partition = partitions_.back();
            partitions_.pop_back();
            cursor_ = scan_->store_->blocks(place_.partition, record.target, record.session, place_.series);
            has_gap_ = false;
        }
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
            cursor_.reset();
        } else if (at->step == CursorStep::kItem) {
            place_.first_seq = at->key.first_seq;
            const Seq last_seq = std::max(place_.first_seq, peek_last_seq_untrusted(at->block, place_.first_seq));
            if (scan_->batch_from(place_.session_index, place_.epoch, place_.partition, place_.first_seq, last_seq) !=
                nullptr) {  // else it is of another epoch, or was put after the scan was opened
                bytes_untrusted_ = at->block;
                return true;
            }
        }
    }
}

void EpochBlocks::take(const Result<std::uint64_t>& row_count) {
    if (row_count.ok()) {
        row_count_ += *row_count;
    } else if (is_store_damage(row_count.error())) {
        scan_->damage_->add_note(place_.session_index, row_count.error().message);
    } else {
        error_ = row_count.error();
    }
}

void EpochBlocks::finish() const {
    scan_->count_unseen(place_.session_index, place_.epoch, place_.series, left_, row_count_);
}

RowCursor::RowCursor(const Scan& scan, std::size_t session_index, std::vector<EpochNumber> epochs, Series series,
                     std::span<const ColumnId> wanted)
    : scan_{&scan},
      session_index_{session_index},
      epochs_{std::move(epochs)},
      series_{series},
      wanted_{std::in_place, wanted.begin(), wanted.end()},
      rows_{scan, nullptr},
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
            if (share_.is_exceeded()) {
                return scan_->memory().exceeded();
            }
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
            blocks_.emplace(*scan_, session_index_, epochs_.back(), series_, nullptr);
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
