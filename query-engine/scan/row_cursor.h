// The rows of a series, read block by block by statistics and exporters.
//
// Damage doesn't stop a cursor: it skips damaged rows. The scan's ledger then counts them as lost (`damaged`), and its
// warnings name the block. One thread at a time; ends before its scan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "query-engine/scan/query_memory.h"
#include "query-engine/scan/row_block.h"
#include "query-engine/scan/scan.h"

namespace perfleet {

// The stored blocks of one series of one epoch that the scan knows of, over all partitions. Skips blocks of long runs
// of batches of which nothing is to be read.
class EpochBlocks {
public:
    // `covered`: batches that summaries count; null, here and below: none.
    EpochBlocks(const Scan& scan, std::size_t session_index, EpochNumber epoch, Series series,
                const CoveredSeqs* covered);

    // Moves to the next block; false after the last. Errors: those of the store and those passed to take(), except
    // damage.
    [[nodiscard]] Result<bool> next();
    [[nodiscard]] const BlockPlace& place() const { return place_; }
    [[nodiscard]] std::string_view bytes_untrusted() const { return bytes_untrusted_; }  // until next()

    // To be called for each block that was read, with the number of its rows that the batch records name, or its error.
    // Damage is noted in the scan.
    void take(const Result<std::uint64_t>& row_count);
    // After the last block: reports rows that batch records name and no block had.
    void finish() const;

private:
    // A range of blocks by their first seqs, both included.
    struct Stretch {
        Partition partition;
        Seq first;
        Seq last;
    };
    // Ranges that hold all blocks to read, in reverse order.
    [[nodiscard]] std::vector<Stretch> stretches() const;
    // Drops ranges of this partition that end before `next`; leaves the partition if none remain.
    void pass(Seq next);

    const Scan* scan_;
    const CoveredSeqs* covered_;
    BlockPlace place_;
    std::vector<Stretch> stretches_;     // still to be read
    std::optional<BlockCursor> cursor_;  // of place_.partition
    bool has_gap_ = false;               // a gap in this partition has been noted
    std::string_view bytes_untrusted_;
    std::uint64_t row_count_ = 0;
    std::optional<Error> error_;
};

// The rows of a block that are in the selection.
class BlockRows {
public:
    BlockRows(const Scan& scan, const CoveredSeqs* covered, RowsWanted span = RowsWanted::kInRange)
        : scan_{&scan}, covered_{covered}, span_{span} {}

    // Checks the block; its bytes are borrowed until the next one. Errors: damage, and those of the filters; next()
    // then gives nothing.
    [[nodiscard]] Result<Done> open(const BlockPlace& place, std::string_view bytes_untrusted);
    // The block's selected rows on the first call, then null; null at once if no row is selected. Decodes the `wanted`
    // columns: all if the list is empty, none if there is no list. Errors: damaged columns.
    [[nodiscard]] Result<RowBlock*> next(const std::optional<std::vector<ColumnId>>& wanted);
    // The number of its rows that the batch records name.
    [[nodiscard]] std::uint64_t expected_row_count() const { return share_.expected_row_count; }
    [[nodiscard]] std::size_t size_bytes() const { return rows_.size_bytes(); }

private:
    [[nodiscard]] Error damaged(const Error& error) const;

    const Scan* scan_;
    const CoveredSeqs* covered_;
    RowsWanted span_;
    BlockPlace place_;
    BlockView view_;
    Scan::Share share_;
    std::optional<RowRanges> passing_;  // rows that pass the filters; none: all pass
    bool is_left_ = false;              // next() has not given the block yet
    RowRanges ranges_;
    DecodedRows rows_;
    std::optional<RowBlock> block_;
};

class RowCursor {
public:
    // The selected rows of the series in all epochs of the session, or in `epochs`, ascending by seq, without those of
    // `covered` batches (null: none). Decodes the `wanted` columns; all if empty.
    RowCursor(const Scan& scan, std::size_t session_index, Series series, std::span<const ColumnId> wanted)
        : RowCursor{scan, session_index, scan.sessions()[session_index].epochs, series, wanted} {}
    RowCursor(const Scan& scan, std::size_t session_index, std::vector<EpochNumber> epochs, Series series,
              std::span<const ColumnId> wanted, RowsWanted span = RowsWanted::kInRange,
              const CoveredSeqs* covered = nullptr);

    // Null after the last block, or when status() is an error. Blocks are never empty.
    [[nodiscard]] RowBlock* next();
    // Errors: those of the store; kTooLarge when the query's memory is exceeded.
    [[nodiscard]] Result<Done> status() const { return error_ ? Result<Done>{*error_} : Done{}; }

private:
    [[nodiscard]] Result<RowBlock*> advance();

    const Scan* scan_;
    std::size_t session_index_;
    std::vector<EpochNumber> epochs_;  // still to be read, in reverse order
    Series series_;
    const CoveredSeqs* covered_;
    std::optional<std::vector<ColumnId>> wanted_;
    std::optional<EpochBlocks> blocks_;
    BlockRows rows_;
    bool is_open_ = false;  // a block
    MemoryShare share_;
    std::optional<Error> error_;
};

}  // namespace perfleet
