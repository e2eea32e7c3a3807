// Rows that stand under two keys. Compaction deletes what it has compacted; where damage hides a deletion, or a lost
// file was put back, the small blocks and single records may stand beside the compacted ones again. The longer one
// counts: these say which key repeats it.
//
// Threads: as the engine's reads, one visit each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/engine/engine.h"
#include "storage/model/keys.h"

namespace perfleet {

// Reported the blocks of a visit in the order of their keys: a compacted one stands under the first of its seqs, so
// before all that it may repeat. Reads again only where seqs overlap.
class RepeatedBlocks {
public:
    explicit RepeatedBlocks(const Engine& engine) : engine_{&engine} {}

    // Whether all its rows are in the compacted block before. Errors: of the engine, damage excepted.
    [[nodiscard]] Result<bool> take(const BlockKey& key, std::string_view block_untrusted);

private:
    [[nodiscard]] Result<Done> read_compacted();

    const Engine* engine_;
    std::optional<BlockKey> compacted_;
    Seq last_;              // that the compacted one names, unchecked
    bool is_read_ = false;  // and these are its seqs, ascending; none when it is damaged
    std::vector<Seq> seqs_;
};

// Reported the batch records of a visit, several of one value in the order of their seqs: such a value stands under the
// last of them, so behind single ones that it may repeat. Remembers as many single ones as a value holds, and more.
class RepeatedRecords {
public:
    // Whether a record of a value of several stood before it as a single one.
    [[nodiscard]] bool take(const Partition& partition, const BatchKey& key, bool is_one_of_several);

private:
    Partition partition_{};
    TargetId target_{};
    SessionId session_{};
    std::vector<Seq> singles_;  // the last ones, ascending
};

}  // namespace perfleet
