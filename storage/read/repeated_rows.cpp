#include "storage/read/repeated_rows.h"

#include <algorithm>
#include <utility>

#include "storage/block/block.h"
#include "storage/engine/damaged_reads.h"
#include "storage/key/key_bytes.h"
#include "storage/limits/store_limits.h"

namespace perfleet {
namespace {

bool is_same_series(const BlockKey& a, const BlockKey& b) {
    return a.partition == b.partition && a.target == b.target && a.session == b.session && a.series == b.series;
}

}  // namespace

Result<bool> RepeatedBlocks::take(const BlockKey& key, std::string_view block_untrusted) {
    const Seq last = peek_last_seq_untrusted(block_untrusted, key.first_seq);
    if (compacted_ && is_same_series(*compacted_, key) && key.first_seq <= last_) {
        PERFLEET_TRY(read_compacted());
        const auto is_compacted = [&](Seq seq) { return std::binary_search(seqs_.begin(), seqs_.end(), seq); };
        if (last <= key.first_seq) {
            return is_compacted(key.first_seq);
        }
        const auto block = parse_block_untrusted(block_untrusted, BlockCheck::kWhenDecoded);
        if (block.ok() && !block->parts.empty() &&
            std::all_of(block->parts.begin(), block->parts.end(),
                        [&](const BlockPart& part) { return is_compacted(part.seq); })) {
            return true;
        }
    }
    if (last > key.first_seq) {
        compacted_ = key;
        last_ = last;
        is_read_ = false;
    }
    return false;
}

Result<Done> RepeatedBlocks::read_compacted() {
    if (std::exchange(is_read_, true)) {
        return Done{};
    }
    seqs_.clear();
    const auto bytes = PERFLEET_TRY(get_readable(*engine_, block_key(*compacted_)));
    const auto block = bytes.has_value() ? parse_block_untrusted(*bytes) : Result<BlockView>{BlockView{}};
    if (block.ok()) {
        for (const BlockPart& part : block->parts) {
            seqs_.push_back(part.seq);
        }
    }
    return Done{};
}

bool RepeatedRecords::take(const Partition& partition, const BatchKey& key, bool is_one_of_several) {
    if (partition != partition_ || key.target != target_ || key.session != session_) {
        partition_ = partition;
        target_ = key.target;
        session_ = key.session;
        singles_.clear();
    }
    if (is_one_of_several) {
        return std::binary_search(singles_.begin(), singles_.end(), key.seq);
    }
    if (singles_.size() == 2 * limits::kCompactedBatchesMax) {
        singles_.erase(singles_.begin(), singles_.begin() + limits::kCompactedBatchesMax);
    }
    singles_.push_back(key.seq);
    return false;
}

}  // namespace perfleet
