// Compacts several blocks into one: their rows one after the other, in newly encoded columns, and the parts that say
// which batch has which rows.
//
// One thread. Keeps its memory for the next block: the decoded rows of at most two blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/block/block.h"

namespace perfleet {

struct CompactedColumn {
    ColumnRule rule;
    std::vector<std::uint64_t> integers;
    std::string bytes;
};

class BlockCompactor {
public:
    enum class Outcome : std::uint8_t {
        kTaken,
        kNoRoom,  // can't be compacted with the blocks taken before: another series or epoch, or too large
        kUnfit,   // can't be compacted at all: damaged, compacted already, or has unknown columns or codecs
    };

    // Appends the rows of a block whose seqs are higher than those of the blocks before. `size_bytes` is the block's.
    [[nodiscard]] Outcome take(const BlockView& block, std::size_t size_bytes);

    [[nodiscard]] std::size_t block_count() const { return parts_.size(); }

    // The compacted block of everything taken, at least one block; then this is empty again. Nothing if decoding it
    // doesn't give the same rows: then it must not replace any block.
    [[nodiscard]] std::optional<std::string> finish();

    void clear();

private:
    [[nodiscard]] bool holds_what_was_taken(const std::string& block);

    BlockHeader header_;
    std::vector<BlockPart> parts_;
    std::vector<CompactedColumn> columns_;
    std::size_t size_bytes_ = 0;
    DecodedRows rows_;
};

// Splits a compacted block into one block per batch, each of one part; returns them with their seqs. Errors: those of
// decoding; kUnsupported (columns or codecs that this build doesn't know).
[[nodiscard]] Result<std::vector<std::pair<Seq, std::string>>> split_block(const BlockView& block);

}  // namespace perfleet
