// The base of makers that work on one partition beside the writer.
//
// One thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "storage/compact/compaction_steps.h"
#include "storage/compact/epoch_rows.h"
#include "storage/engine/damaged_reads.h"
#include "storage/engine/engine.h"
#include "storage/key/key_bytes.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

// Where an epoch's rows are.
struct EpochPlace {
    SessionName session;
    Partition partition;
    EpochNumber epoch;
    SeqRange seqs{Seq{0}, Seq{~0ULL}};
};

class PartitionMaker {
public:
    using Commit = CompactionSteps::Commit;
    using OnStep = CompactionSteps::OnStep;
    using Outcome = CompactionSteps::Outcome;

    PartitionMaker(const KeyedReads& reads, const Partition& partition, Commit commit, OnStep on_step)
        : reads_{&reads}, partition_{partition}, steps_{std::move(commit), std::move(on_step)} {}

protected:
    // Calls `work` for each session of the partition until it returns false; damage ends only the work on its session.
    template <class Work>
    [[nodiscard]] Result<Outcome> for_each_session(const Work& work) {
        const auto sessions = PERFLEET_TRY(reads_->session_names(partition_));
        for (const SessionName& session : sessions) {
            const Result<bool> done = work(session);
            if (!done.ok() && !is_damage(done.error())) {
                return Error{done.error()};
            }
            if (done.ok() && !*done) {
                return steps_.ended();
            }
        }
        return Outcome::kDone;
    }

    // The epoch's blocks as they are now, of the batches in place.seqs.
    [[nodiscard]] EpochBlockCursor epoch_blocks(const EpochPlace& place, Series series) const {
        const auto& [session, partition, epoch, seqs] = place;
        KeyRange range = series_blocks_range(partition, session.target, session.session, series, seqs.first);
        if (seqs.last != Seq{~0ULL}) {
            range.end = block_key({partition, session.target, session.session, series, seqs.last}) + '\0';
        }
        return {reads_->engine(), std::move(range), series, epoch};
    }

    // Passes all blocks of these kinds to `add`. False if it refuses one, or if they don't have `row_count` rows.
    template <class Add>
    [[nodiscard]] Result<bool> read_whole(const EpochPlace& place, std::span<const Kind> kinds, std::uint64_t row_count,
                                          const Add& add) const {
        std::uint64_t seen = 0;
        for (const Kind kind : kinds) {
            EpochBlockCursor blocks = epoch_blocks(place, {kind, kNoEvent});
            while (const BlockView* const block = PERFLEET_TRY(blocks.next())) {
                if (!add(*block)) {
                    return false;
                }
                seen += block->header.row_count;
            }
        }
        return seen == row_count;
    }

    // Skips damaged ranges entirely: other files may hold older values there, from which nothing must be made.
    [[nodiscard]] ReadableCursor undamaged(const KeyRange& range) const {
        return ReadableCursor{reads_->engine(), range, ReadableCursor::InGaps::kNothing};
    }

    const KeyedReads* reads_;
    Partition partition_;
    CompactionSteps steps_;
};

}  // namespace perfleet
