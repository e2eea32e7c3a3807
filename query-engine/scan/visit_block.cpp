// What a scan makes of one block.
#include <algorithm>
#include <utility>

#include "query-engine/scan/block_place.h"
#include "query-engine/scan/scan.h"

namespace perfleet {

bool is_store_damage(const Error& error) {
    return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kIo || error.code == ErrorCode::kTruncated ||
           error.code == ErrorCode::kInvalid || error.code == ErrorCode::kTooLarge;
}

std::string block_place(const SessionRecord& record, Series series, Seq seq) {
    return "store: session " + session_hex(record.session) + ", " + std::string{kind_name(series.kind)} + " event " +
           std::to_string(series.event.value) + ", batch " + std::to_string(seq.value);
}

Result<BlockView> Scan::parse_block(std::size_t session_index, EpochNumber epoch, Series series, Seq first_seq,
                                    std::string_view bytes_untrusted) const {
    const SessionRecord& record = sessions_[session_index].record;
    Result<BlockView> block = parse_block_untrusted(bytes_untrusted, BlockCheck::kWhenDecoded);
    if (!block.ok()) {
        return Error{block.error().code, block_place(record, series, first_seq) + ": " + block.error().message};
    }
    const BlockHeader& header = block->header;
    if (header.series != series || header.epoch != epoch || header.first_seq != first_seq) {
        return Error{ErrorCode::kCorrupt, block_place(record, series, first_seq) + ": holds another block's rows"};
    }
    return block;
}

std::uint64_t Scan::Shares::expected_row_count() const {
    std::uint64_t sum = 0;
    for (const Share& share : shares) {
        sum += share.expected_row_count;
    }
    return sum;
}

Result<Scan::Shares> Scan::shares_of(std::size_t session_index, const Partition& partition, const BlockView& block,
                                     const RowsLeft* left) const {
    const BlockHeader& header = block.header;
    const BlockPart whole{header.first_seq, header.row_count};
    const std::span<const BlockPart> parts = block.parts.empty() ? std::span{&whole, 1} : std::span{block.parts};
    Shares found;
    std::size_t row = 0;
    for (const BlockPart& part : parts) {
        const std::size_t first = std::exchange(row, row + part.row_count);
        const BatchRecord* batch = batch_from(session_index, header.epoch, partition, part.seq, part.seq);
        if (batch == nullptr) {  // put after this scan was opened, and compacted since
            found.is_whole = false;
            continue;
        }
        const auto rows = std::find_if(batch->rows.begin(), batch->rows.end(),
                                       [&](const BatchRecord::Rows& one) { return one.series == header.series; });
        if (rows == batch->rows.end() || (!block.parts.empty() && rows->row_count != part.row_count)) {
            return Error{ErrorCode::kCorrupt, block_place(sessions_[session_index].record, header.series, part.seq) +
                                                  ": the block holds other rows than its batch names"};
        }
        const std::size_t group = left == nullptr ? 0 : left->group_of(part.seq);
        const bool is_expected = is_left(session_index, part.seq, *rows, left);
        if (group != 0 && !is_expected) {
            found.is_whole = false;
            continue;
        }
        auto share = std::find_if(found.shares.begin(), found.shares.end(),
                                  [&](const Share& one) { return one.group == group; });
        if (share == found.shares.end()) {
            found.is_whole = found.is_whole && found.shares.empty();
            share = found.shares.insert(share, Share{group, {}, part.seq, part.seq, 0});
        }
        share->expected_row_count += is_expected ? part.row_count : 0;
        share->last_seq = part.seq;
        if (!share->ranges.empty() && share->ranges.back().second == first) {
            share->ranges.back().second = row;
        } else {
            share->ranges.emplace_back(first, row);
        }
    }
    return found;
}

// A block that is being visited, and what is decoded of it.
class BlockColumns {
public:
    // `ranges`: the rows that are left, if not all are. Borrows everything.
    BlockColumns(const BlockView& block, std::span<const std::pair<std::size_t, std::size_t>> ranges, DecodedRows& rows)
        : block_{&block}, ranges_{ranges}, rows_{&rows} {}

    [[nodiscard]] Result<Done> decode(std::span<const ColumnId> wanted) {
        wanted_.assign(wanted.begin(), wanted.end());
        is_begun_ = true;
        Result<Done> decoded = rows_->decode(*block_, wanted);
        if (decoded.ok() && !ranges_.empty()) {
            rows_->keep(ranges_);
        }
        return decoded;
    }

    [[nodiscard]] bool decode_more(std::span<const ColumnId> more) {
        std::vector<ColumnId> all = wanted_;
        all.insert(all.end(), more.begin(), more.end());
        return took(is_begun_ && is_whole() ? rows_->decode_more(*block_, more) : decode(all));
    }

    [[nodiscard]] bool decode_narrow(ColumnId id, NarrowColumn& column) {
        PERFLEET_ASSERT(is_whole());
        return took(perfleet::decode_narrow(*block_, id, column));
    }

    [[nodiscard]] bool decode_runs(ColumnId id, std::vector<ValueRun>& runs) {
        PERFLEET_ASSERT(is_whole());
        return took(perfleet::decode_runs(*block_, id, runs));
    }

    [[nodiscard]] bool is_whole() const { return ranges_.empty(); }

    [[nodiscard]] std::size_t row_count() const {
        std::size_t row_count = is_whole() ? block_->header.row_count : 0;
        for (const auto& [first, last] : ranges_) {
            row_count += last - first;
        }
        return row_count;
    }

    [[nodiscard]] const std::optional<Error>& damage() const { return damage_; }

private:
    [[nodiscard]] bool took(Result<Done> decoded) {
        if (!decoded.ok()) {
            damage_ = std::move(decoded).error();
        }
        return !damage_;
    }

    const BlockView* block_;
    std::span<const std::pair<std::size_t, std::size_t>> ranges_;
    DecodedRows* rows_;
    std::vector<ColumnId> wanted_;
    bool is_begun_ = false;
    std::optional<Error> damage_;  // met while it was visited
};

bool RowBlock::decode_more(std::span<const ColumnId> more) const { return columns.decode_more(more); }
bool RowBlock::is_whole() const { return columns.is_whole(); }
bool RowBlock::decode_narrow(ColumnId id, NarrowColumn& column) const { return columns.decode_narrow(id, column); }
bool RowBlock::decode_runs(ColumnId id, std::vector<ValueRun>& runs) const { return columns.decode_runs(id, runs); }

Result<std::uint64_t> Scan::visit_block(const BlockPlace& place, std::string_view bytes_untrusted, const RowsLeft* left,
                                        std::optional<std::span<const ColumnId>> wanted, DecodedRows& rows,
                                        const std::function<void(const RowBlock&)>& visitor) const {
    const std::size_t session_index = place.session_index;
    const Result<BlockView> block =
        parse_block(session_index, place.epoch, place.series, place.first_seq, bytes_untrusted);
    if (!block.ok()) {
        return Error{block.error()};
    }
    const BlockHeader& header = block->header;
    if (is_pruned(session_index, place.series, header.first_ticks, header.last_ticks)) {
        return std::uint64_t{0};
    }
    const Result<Shares> shares = shares_of(session_index, place.partition, *block, left);
    if (!shares.ok()) {
        return Error{shares.error()};
    }
    const auto damaged = [&](const Error& error) {
        return Error{error.code, block_place(sessions_[session_index].record, place.series, place.first_seq) + ": " +
                                     error.message};
    };
    const bool is_filtered = filters_->applies_to(place.series.kind);
    RowRanges passing;
    if (is_filtered) {
        Result<RowRanges> found = filters_->passing(*this, session_index, *block);
        if (!found.ok()) {
            return found.error().code == ErrorCode::kUsage ? Error{found.error()} : damaged(found.error());
        }
        passing = std::move(found).value();
    }
    for (const Share& share : shares->shares) {
        const RowRanges filtered = is_filtered ? common_rows(share.ranges, passing) : RowRanges{};
        if (is_filtered && filtered.empty()) {
            continue;
        }
        const std::span ranges{is_filtered ? filtered : share.ranges};
        BlockColumns columns{*block, shares->is_whole && !is_filtered ? ranges.first(0) : ranges, rows};
        if (wanted) {
            if (const Result<Done> decoded = columns.decode(*wanted); !decoded.ok()) {
                return damaged(decoded.error());
            }
        }
        visitor(RowBlock{session_index, place.series, place.epoch, share.first_seq, share.last_seq, header.first_ticks,
                         header.last_ticks, columns.row_count(),
                         left == nullptr ? std::span{&tick_ranges_[session_index], 1} : left->ranges(share.group), rows,
                         columns});
        if (columns.damage()) {
            return damaged(*columns.damage());
        }
    }
    return shares->expected_row_count();
}

}  // namespace perfleet
