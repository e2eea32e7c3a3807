// How a scan and its cursors read one block.
#include <algorithm>
#include <utility>

#include "query-engine/scan/block_place.h"
#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"

namespace perfleet {
namespace {

std::size_t count_rows(std::span<const std::pair<std::size_t, std::size_t>> ranges) {
    std::size_t row_count = 0;
    for (const auto& [first, last] : ranges) {
        row_count += last - first;
    }
    return row_count;
}

}  // namespace

bool is_store_damage(const Error& error) {
    return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kIo || error.code == ErrorCode::kTruncated ||
           error.code == ErrorCode::kInvalid || error.code == ErrorCode::kTooLarge;
}

std::string block_place(const SessionRecord& record, Series series, Seq seq) {
    return "store: session " + session_hex(record.session) + ", " + std::string{kind_name(series.kind)} + " event " +
           std::to_string(series.event.value) + ", batch " + std::to_string(seq.value);
}

Error at_block(const SessionRecord& record, const BlockPlace& place, const Error& error) {
    return Error{error.code, block_place(record, place.series, place.first_seq) + ": " + error.message};
}

Result<BlockView> Scan::parse_block(const BlockPlace& place, std::string_view bytes_untrusted) const {
    const SessionRecord& record = sessions_[place.session_index].record;
    Result<BlockView> block = parse_block_untrusted(bytes_untrusted, BlockCheck::kWhenDecoded);
    if (!block.ok()) {
        return at_block(record, place, block.error());
    }
    const BlockHeader& header = block->header;
    if (header.series != place.series || header.epoch != place.epoch || header.first_seq != place.first_seq) {
        return at_block(record, place, Error{ErrorCode::kCorrupt, "holds another block's rows"});
    }
    return block;
}

Result<Scan::Share> Scan::share_of(std::size_t session_index, const Partition& partition, const BlockView& block,
                                   const CoveredSeqs* covered) const {
    const BlockHeader& header = block.header;
    const BlockPart whole{header.first_seq, header.row_count};
    const std::span<const BlockPart> parts = block.parts.empty() ? std::span{&whole, 1} : std::span{block.parts};
    Share share;
    std::size_t row = 0;
    for (const BlockPart& part : parts) {
        const std::size_t first = std::exchange(row, row + part.row_count);
        const BatchRecord* batch = batch_from(session_index, header.epoch, partition, part.seq, part.seq);
        if (batch == nullptr) {  // stored after this scan was opened, and compacted since
            share.is_whole = false;
            continue;
        }
        const auto rows = std::find_if(batch->rows.begin(), batch->rows.end(),
                                       [&](const BatchRecord::Rows& one) { return one.series == header.series; });
        if (rows == batch->rows.end() || (!block.parts.empty() && rows->row_count != part.row_count)) {
            return Error{ErrorCode::kCorrupt, block_place(sessions_[session_index].record, header.series, part.seq) +
                                                  ": the block holds other rows than its batch names"};
        }
        if (covered != nullptr && covered->has(part.seq)) {
            share.is_whole = false;
            continue;
        }
        share.expected_row_count += is_to_be_read(session_index, part.seq, *rows, covered) ? part.row_count : 0;
        share.first_seq = share.ranges.empty() ? part.seq : share.first_seq;
        share.last_seq = part.seq;
        if (!share.ranges.empty() && share.ranges.back().second == first) {
            share.ranges.back().second = row;
        } else {
            share.ranges.emplace_back(first, row);
        }
    }
    return share;
}

RowBlock::RowBlock(const BlockPlace& place, std::pair<Seq, Seq> seqs, const BlockView& view,
                   std::span<const std::pair<std::size_t, std::size_t>> passing, DecodedRows& decoded)
    : session_index{place.session_index},
      series{place.series},
      epoch{place.epoch},
      first_seq{seqs.first},
      last_seq{seqs.second},
      first_ticks{view.header.first_ticks},
      last_ticks{view.header.last_ticks},
      row_count{passing.empty() ? view.header.row_count : count_rows(passing)},
      rows{decoded},
      view_{&view},
      passing_{passing},
      decoded_{&decoded} {}

bool RowBlock::decode_more(std::span<const ColumnId> more) {
    if (std::exchange(is_begun_, true) && is_whole()) {
        return took(decoded_->decode_more(*view_, more));
    }
    wanted_.insert(wanted_.end(), more.begin(), more.end());
    Result<Done> decoded = decoded_->decode(*view_, wanted_);
    if (decoded.ok() && !is_whole()) {
        decoded_->keep(passing_);
    }
    return took(std::move(decoded));
}

bool RowBlock::decode_narrow(ColumnId id, NarrowColumn& column) {
    PERFLEET_ASSERT(is_whole());
    return took(perfleet::decode_narrow(*view_, id, column));
}

bool RowBlock::decode_runs(ColumnId id, std::vector<ValueRun>& runs) {
    PERFLEET_ASSERT(is_whole());
    return took(perfleet::decode_runs(*view_, id, runs));
}

bool RowBlock::took(Result<Done> decoded) {
    if (!decoded.ok()) {
        damage_ = std::move(decoded).error();
    }
    return !damage_;
}

Error BlockRows::damaged(const Error& error) const {
    return at_block(scan_->sessions_[place_.session_index].record, place_, error);
}

Result<Done> BlockRows::open(const BlockPlace& place, std::string_view bytes_untrusted) {
    place_ = place;
    share_ = {};
    passing_.reset();
    block_.reset();
    is_left_ = false;
    view_ = PERFLEET_TRY(scan_->parse_block(place, bytes_untrusted));
    if (scan_->is_pruned(place.session_index, place.series, view_.header.first_ticks, view_.header.last_ticks)) {
        return Done{};
    }
    auto share = PERFLEET_TRY(scan_->share_of(place.session_index, place.partition, view_, covered_));
    const std::optional<TickRange> cut = scan_->cut_of(place.session_index, view_.header, span_);
    if (cut || scan_->filters_->applies_to(place.series.kind)) {
        Result<RowRanges> found = scan_->filters_->passing(*scan_, place.session_index, view_, cut);
        if (!found.ok()) {
            return found.error().code == ErrorCode::kUsage ? Error{found.error()} : damaged(found.error());
        }
        passing_ = std::move(found).value();
    }
    share_ = std::move(share);
    is_left_ = true;
    return Done{};
}

Result<RowBlock*> BlockRows::next(const std::optional<std::vector<ColumnId>>& wanted) {
    if (block_ && block_->damage()) {
        return damaged(*block_->damage());
    }
    if (!std::exchange(is_left_, false)) {
        return nullptr;
    }
    ranges_ = passing_ ? common_rows(share_.ranges, *passing_) : share_.ranges;
    if (count_rows(ranges_) == 0) {
        return nullptr;
    }
    const bool is_whole = share_.is_whole && !passing_;
    block_.emplace(place_, std::pair{share_.first_seq, share_.last_seq}, view_,
                   std::span{ranges_}.first(is_whole ? 0 : ranges_.size()), rows_);
    if (wanted && !block_->decode_more(*wanted)) {
        return damaged(*block_->damage());
    }
    return &*block_;
}

}  // namespace perfleet
