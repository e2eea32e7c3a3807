// Makes one block of several: their rows one after the other, in columns that are encoded anew, and the parts that say
// which batch brought which rows.
//
// One thread. Keeps its memory for the next block: at most the decoded rows of two blocks.
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
        kNoRoom,  // not with what was taken before: of another series or epoch, or too much
        kUnfit,   // with nothing: damaged, compacted already, or with columns or codecs that this build doesn't know
    };

    // Takes the rows in behind those of the blocks before, whose seqs are lower. `size_bytes` is the block's.
    [[nodiscard]] Outcome take(const BlockView& block, std::size_t size_bytes);

    [[nodiscard]] std::size_t block_count() const { return parts_.size(); }

    // The compacted block of what was taken, at least one; then it is empty again. Nothing when reading it doesn't give
    // back what was taken: then it must not replace anything.
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

// The rows of each batch of a compacted block, in a block of its own of one part: by seq. Errors: those of decoding;
// kUnsupported, where it has columns or codecs that this build doesn't know.
[[nodiscard]] Result<std::vector<std::pair<Seq, std::string>>> split_block(const BlockView& block);

}  // namespace perfleet
