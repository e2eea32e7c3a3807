// Detects rows that are stored under two keys. Compaction deletes what it has compacted; if damage hides a deletion, or
// a lost file was put back, the small blocks and single records may exist beside the compacted ones again. The
// compacted one counts; these classes find the keys that repeat it.
//
// Threads: as the engine's reads; one object per visit.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/model/keys.h"

namespace perfleet {

// Takes the blocks of a visit in the order of their keys. A compacted block is under the first of its seqs, so it comes
// before all blocks that may repeat it. Reads again only if seqs overlap.
class RepeatedBlocks {
public:
    explicit RepeatedBlocks(const Engine& engine) : engine_{&engine} {}

    // Whether all rows of the block are in the compacted block before it. Errors: of the engine, except damage.
    [[nodiscard]] Result<bool> take(const BlockKey& key, std::string_view block_untrusted);

private:
    [[nodiscard]] Result<Done> read_compacted();

    const Engine* engine_;
    std::optional<BlockKey> compacted_;
    Seq last_;              // last seq of the compacted block, unchecked
    bool is_read_ = false;  // seqs_ are those of the compacted block, ascending; empty if it is damaged
    std::vector<Seq> seqs_;
};

// Takes the batch records of a visit; those of one value in the order of their seqs. A compacted value is under its
// last seq, so after single records that repeat it. Remembers the latest single records: at least as many as a value
// holds.
class RepeatedRecords {
public:
    // Whether a single record for the same batch was taken before this record of a compacted value.
    [[nodiscard]] bool take(const Partition& partition, const BatchKey& key, bool is_one_of_several);

private:
    Partition partition_{};
    TargetId target_{};
    SessionId session_{};
    std::vector<Seq> singles_;  // the latest ones, ascending
};

}  // namespace perfleet
