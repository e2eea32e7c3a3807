// Rows of one series of one epoch, decoded as far as they are wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "storage/block/block.h"
#include "storage/block/narrow_columns.h"
#include "storage/model/keys.h"

namespace perfleet {

// Where a block stands.
struct BlockPlace {
    std::size_t session_index = 0;  // into Scan::sessions()
    EpochNumber epoch;
    Series series;
    Partition partition;
    Seq first_seq;
};

// The rows of one batch, or of several one behind the other where the store has compacted them. They are in the same
// order either way; where a block ends means nothing. Borrowed from who gives it, until the next one.
class RowBlock {
public:
    // `passing`: the rows that are left, if not all are. Borrows everything.
    RowBlock(const BlockPlace& place, std::pair<Seq, Seq> seqs, const BlockView& view,
             std::span<const std::pair<std::size_t, std::size_t>> passing, DecodedRows& decoded);

    const std::size_t session_index;
    const Series series;
    const EpochNumber epoch;
    const Seq first_seq;  // of the batches whose rows these are; those between may belong to other series or blocks
    const Seq last_seq;
    const Ticks first_ticks;  // all times lie between these two, both included
    const Ticks last_ticks;
    const std::size_t row_count;
    const DecodedRows& rows;  // of the columns that were asked for so far

    // Decodes columns beside those that were wanted before; all that the kind has, when none are named at first. False
    // when they are damaged: the caller takes nothing from this block then, and the scan counts its rows as lost.
    [[nodiscard]] bool decode_more(std::span<const ColumnId> more);

    // Whether these rows are all of the block, as they stand there: only then the two below may be asked for. False as
    // above.
    [[nodiscard]] bool is_whole() const { return passing_.empty(); }
    [[nodiscard]] bool decode_narrow(ColumnId id, NarrowColumn& column);
    [[nodiscard]] bool decode_runs(ColumnId id, std::vector<ValueRun>& runs);

    // What was met by these.
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
