// The rows of a series, pulled block by block: what statistics and exporters read.
//
// What can't be read stops no cursor: it is left out, the ledger that the scan makes afterwards counts its rows as lost
// (`damaged`), and its warnings name it. One thread at a time; ends before its scan.
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

// The blocks of one series of one epoch that the scan knows of, as they are stored; over all partitions. Where nothing
// of many batches is to be read, their blocks are passed over.
class EpochBlocks {
public:
    // `covered` is null where no summary stands for anything, here and below.
    EpochBlocks(const Scan& scan, std::size_t session_index, EpochNumber epoch, Series series,
                const CoveredSeqs* covered);

    // To the next block; false behind the last. Errors: those of the store and of what take() was given, damage
    // excepted.
    [[nodiscard]] Result<bool> next();
    [[nodiscard]] const BlockPlace& place() const { return place_; }
    [[nodiscard]] std::string_view bytes_untrusted() const { return bytes_untrusted_; }  // until next()

    // Of each block that was read, how many of its rows the batch records speak of, or its damage, which is noted.
    void take(const Result<std::uint64_t>& row_count);
    // Behind the last: reports the rows that were not met.
    void finish() const;

private:
    // Blocks that begin with these seqs, both included.
    struct Stretch {
        Partition partition;
        Seq first;
        Seq last;
    };
    // They hold all that is left, the first at the end.
    [[nodiscard]] std::vector<Stretch> stretches() const;
    // Passes over those of this partition that end before `next`; leaves it when it has no more.
    void pass(Seq next);

    const Scan* scan_;
    const CoveredSeqs* covered_;
    BlockPlace place_;
    std::vector<Stretch> stretches_;     // that are still to be read
    std::optional<BlockCursor> cursor_;  // of place_.partition
    bool has_gap_ = false;               // in this partition, and it is noted
    std::string_view bytes_untrusted_;
    std::uint64_t row_count_ = 0;
    std::optional<Error> error_;
};

// The rows of a block that are in the selection.
class BlockRows {
public:
    BlockRows(const Scan& scan, const CoveredSeqs* covered, RowsWanted span = RowsWanted::kInRange)
        : scan_{&scan}, covered_{covered}, span_{span} {}

    // Checks the block; its bytes are borrowed until the next one. Errors: damage, and those of the filters; then
    // nothing of it is given.
    [[nodiscard]] Result<Done> open(const BlockPlace& place, std::string_view bytes_untrusted);
    // Once; then null, as where nothing of it is selected. Of `wanted` columns, all when empty; none, when there is no
    // such. Errors: damaged columns.
    [[nodiscard]] Result<RowBlock*> next(const std::optional<std::vector<ColumnId>>& wanted);
    // Its rows that the batch records speak of.
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
    std::optional<RowRanges> passing_;  // the filters; none: all do
    bool is_left_ = false;              // the block is still to be given
    RowRanges ranges_;
    DecodedRows rows_;
    std::optional<RowBlock> block_;
};

class RowCursor {
public:
    // The series' rows of all the session's epochs, or of these, that are in the selection, ascending by seq. `wanted`
    // columns only; all when empty.
    RowCursor(const Scan& scan, std::size_t session_index, Series series, std::span<const ColumnId> wanted)
        : RowCursor{scan, session_index, scan.sessions()[session_index].epochs, series, wanted} {}
    RowCursor(const Scan& scan, std::size_t session_index, std::vector<EpochNumber> epochs, Series series,
              std::span<const ColumnId> wanted, RowsWanted span = RowsWanted::kInRange);

    // Null behind the last block, or when status() is an error. None is empty.
    [[nodiscard]] RowBlock* next();
    // Errors: those of the store; kTooLarge when the query's memory is exceeded.
    [[nodiscard]] Result<Done> status() const { return error_ ? Result<Done>{*error_} : Done{}; }

private:
    [[nodiscard]] Result<RowBlock*> advance();

    const Scan* scan_;
    std::size_t session_index_;
    std::vector<EpochNumber> epochs_;  // that are still to be read, the first at the end
    Series series_;
    std::optional<std::vector<ColumnId>> wanted_;
    std::optional<EpochBlocks> blocks_;
    BlockRows rows_;
    bool is_open_ = false;  // a block
    MemoryShare share_;
    std::optional<Error> error_;
};

}  // namespace perfleet
