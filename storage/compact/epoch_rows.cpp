#include "storage/compact/epoch_rows.h"

#include <algorithm>

#include "storage/dictionary/partition_dictionary.h"
#include "storage/limits/store_limits.h"
#include "storage/summary/day_summary.h"

namespace perfleet {
namespace {

bool is_before(const BatchRows& batch, Seq seq) { return batch.seq < seq; }

void add_rows(RowCover& cover, const BatchRecord& batch, std::uint64_t row_count, bool is_next) {
    cover.epoch = batch.epoch;
    if (row_count != 0) {
        cover.add_seq(batch.seq, is_next);
        cover.row_count += row_count;
    }
}

}  // namespace

Result<SessionBatches> read_session_batches(const KeyedReads& reads, const Partition& partition,
                                            const SessionName& session) {
    const Seq watermark = PERFLEET_TRY(reads.watermark(session.target, session.session));
    SessionBatches batches;
    std::uint32_t count = 0;
    const auto visited =
        reads.visit_batches(partition, session.target, session.session, Seq{0}, [&](const BatchRecord& batch) {
            if (++count > limits::kMadeBatchesMax) {
                batches.is_whole = false;
                return Visit::kStop;
            }
            batches.points.insert(batches.points.end(), batch.clock_points.begin(), batch.clock_points.end());
            EpochBatches& epoch = batches.epochs[batch.epoch];
            epoch.is_final = epoch.is_final && batch.seq <= watermark;
            std::uint64_t meaning_rows = 0;
            std::uint64_t definition_rows = 0;
            for (const BatchRecord::Rows& rows : batch.rows) {
                meaning_rows += gives_meaning(rows.series.kind) ? rows.row_count : 0;
                definition_rows += defines_stacks(rows.series.kind) ? rows.row_count : 0;
                if (rows.row_count != 0) {
                    const bool is_skipped = batch.seq > watermark || rows.last_ticks.value == ~0ULL;
                    epoch.series[rows.series].push_back({batch.seq, rows.row_count, is_skipped});
                }
            }
            const RowCover& meaning = epoch.meaning;
            const bool is_next = !meaning.seqs.empty() && meaning.seqs.back().last.value + 1 == batch.seq.value;
            add_rows(epoch.meaning, batch, meaning_rows, is_next);
            add_rows(epoch.definitions, batch, definition_rows, true);
            return Visit::kContinue;
        });
    if (!visited.ok() && !is_damage(visited.error())) {
        return visited.error();
    }
    return batches;
}

std::vector<BatchPart> parts_of(const BlockView& block, std::span<const BatchRows> batches, std::size_t begin) {
    std::vector<BatchPart> parts;
    const BlockPart whole{block.header.first_seq, block.header.row_count};
    std::size_t row = 0;
    for (const BlockPart& part : block.parts.empty() ? std::span{&whole, 1} : std::span{block.parts}) {
        const std::size_t first = std::exchange(row, row + part.row_count);
        const auto at =
            std::lower_bound(batches.begin() + static_cast<std::ptrdiff_t>(begin), batches.end(), part.seq, is_before);
        if (at != batches.end() && at->seq == part.seq && at->row_count == part.row_count && !at->is_skipped) {
            parts.push_back({static_cast<std::size_t>(at - batches.begin()), first, row});
        }
    }
    return parts;
}

void EpochBlockCursor::reopen() {
    if (at_) {
        range_.begin = std::string{at_->key()} + '\0';
    }
    at_.emplace(*engine_, range_, ReadableCursor::InGaps::kNothing);
}

Result<const BlockView*> EpochBlockCursor::next() {
    while (PERFLEET_TRY(at_->next_item())) {
        auto block = parse_block_untrusted(at_->value());
        if (block.ok() && block->header.series == series_ && block->header.epoch == epoch_) {
            block_ = std::move(*block);
            return &block_;
        }
    }
    return nullptr;
}

}  // namespace perfleet
