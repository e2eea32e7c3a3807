#include "storage/compact/epoch_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "storage/engine/damaged_reads.h"

namespace perfleet {
namespace {

bool is_before(const BatchRows& batch, Seq seq) { return batch.seq < seq; }

}  // namespace

std::vector<BatchRows*> covered_by(const RollupCover& cover, std::vector<BatchRows>& batches) {
    std::vector<BatchRows*> covered;
    for (const SeqRange& seqs : cover.seqs) {
        auto one = std::lower_bound(batches.begin(), batches.end(), seqs.first, is_before);
        for (; one != batches.end() && one->seq <= seqs.last; ++one) {
            covered.push_back(&*one);
        }
    }
    return covered;
}

std::uint64_t count_uncovered(const std::vector<BatchRows>& batches) {
    std::uint64_t row_count = 0;
    for (const BatchRows& one : batches) {
        row_count += one.is_covered || one.is_left ? 0 : one.row_count;
    }
    return row_count;
}

std::vector<UncoveredPart> uncovered_parts(const BlockView& block, const std::vector<BatchRows>& batches,
                                           std::size_t begin) {
    std::vector<UncoveredPart> uncovered;
    const BlockPart whole{block.header.first_seq, block.header.row_count};
    std::size_t row = 0;
    for (const BlockPart& part : block.parts.empty() ? std::span{&whole, 1} : std::span{block.parts}) {
        const std::size_t first = std::exchange(row, row + part.row_count);
        const auto at =
            std::lower_bound(batches.begin() + static_cast<std::ptrdiff_t>(begin), batches.end(), part.seq, is_before);
        if (at != batches.end() && at->seq == part.seq && at->row_count == part.row_count && !at->is_covered &&
            !at->is_left) {
            uncovered.push_back({static_cast<std::size_t>(at - batches.begin()), first, row});
        }
    }
    return uncovered;
}

Result<Done> visit_epoch_blocks(const Engine& engine, const KeyRange& range, Series series, EpochNumber epoch,
                                const std::function<Visit(const BlockView& block)>& visitor) {
    return visit_undamaged(
        engine, range,
        [&](std::string_view, std::string_view value) {
            const auto block = parse_block_untrusted(value);
            const bool is_its = block.ok() && block->header.series == series && block->header.epoch == epoch;
            return is_its ? visitor(*block) : Visit::kContinue;
        },
        [](const DamagedRange&) {});
}

}  // namespace perfleet
