// Rows of one series of one epoch; columns are decoded on request.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "storage/block/block.h"
#include "storage/block/narrow_columns.h"
#include "storage/model/keys.h"

namespace perfleet {

// The place of a block in the store.
struct BlockPlace {
    std::size_t session_index = 0;  // into Scan::sessions()
    EpochNumber epoch;
    Series series;
    Partition partition;
    Seq first_seq;
};

// The rows of one batch, or of several in sequence if the store has compacted them. Their order is the same either way,
// so the end of a block has no meaning. Borrowed from the cursor or visit until the next block.
class RowBlock {
public:
    // `passing`: the rows that pass time range and filters; empty: all. Borrows everything.
    RowBlock(const BlockPlace& place, std::pair<Seq, Seq> seqs, const BlockView& view,
             std::span<const std::pair<std::size_t, std::size_t>> passing, DecodedRows& decoded);

    const std::size_t session_index;
    const Series series;
    const EpochNumber epoch;
    const Seq first_seq;  // of the rows' batches; batches between first and last may belong to other series or blocks
    const Seq last_seq;
    const Ticks first_ticks;  // bounds of all times, both included
    const Ticks last_ticks;
    const std::size_t row_count;
    const DecodedRows& rows;  // of the columns that were requested so far

    // Decodes further columns; all columns of the kind, if none were requested at first. False if they are damaged:
    // then the caller uses no row of this block, and the scan counts its rows as lost.
    [[nodiscard]] bool decode_more(std::span<const ColumnId> more);

    // Whether these are all rows of the stored block, unfiltered. The two functions below may only be called then; they
    // return false for damaged columns.
    [[nodiscard]] bool is_whole() const { return passing_.empty(); }
    [[nodiscard]] bool decode_narrow(ColumnId id, NarrowColumn& column);
    [[nodiscard]] bool decode_runs(ColumnId id, std::vector<ValueRun>& runs);

    // The damage that decode functions found.
    [[nodiscard]] const std::optional<Error>& damage() const { return damage_; }

private:
    [[nodiscard]] bool took(Result<Done> decoded);

    const BlockView* view_;
    std::span<const std::pair<std::size_t, std::size_t>> passing_;
    DecodedRows* decoded_;
    std::vector<ColumnId> wanted_;
    bool is_begun_ = false;
    std::optional<Error> damage_;
};

}  // namespace perfleet
