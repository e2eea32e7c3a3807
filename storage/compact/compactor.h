// Reads what is to be compacted in one partition and makes the changes that compact it. What they mean:
// storage/FORMAT.md.
//
// A batch at or below its session's watermark never comes again, so what is read here stays as it is until it is
// compacted or dropped; whether that is still so when a change is written, `commit` knows. Blocks first, then the
// records of their batches: records that were compacted say that nothing is left to do, so an interrupted work is begun
// again and passes over what was compacted already.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/block/block_compactor.h"
#include "storage/compact/compaction_step.h"
#include "storage/compact/compaction_steps.h"
#include "storage/engine/engine.h"
#include "storage/key/key.h"
#include "storage/model/batch.h"
#include "storage/model/keys.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

class Compactor {
public:
    using Commit = CompactionSteps::Commit;
    using OnStep = CompactionSteps::OnStep;
    using Outcome = CompactionSteps::Outcome;

    Compactor(const Engine& engine, const KeyedReads& reads, const Partition& partition, Commit commit, OnStep on_step)
        : engine_{&engine}, reads_{&reads}, partition_{partition}, steps_{std::move(commit), std::move(on_step)} {}

    [[nodiscard]] Result<Outcome> compact_partition();
    [[nodiscard]] Result<Outcome> compact_session(const SessionName& session);

private:
    // Batches whose records stand one behind the other, none compacted, none damaged.
    struct Segment {
        std::vector<BatchRecord> batches;
        std::uint64_t size_bytes = 0;  // of their keys and values
    };
    struct Named {
        Seq seq;
        EpochNumber epoch;
        std::uint32_t row_count = 0;
    };
    struct Run {
        std::vector<std::string> keys;
        std::uint64_t size_bytes = 0;
    };

    [[nodiscard]] Result<Segment> read_segment(const SessionName& session, Seq watermark, Seq& next,
                                               bool& has_leftover) const;
    [[nodiscard]] Result<bool> compact_segment(const SessionName& session, const Segment& segment);
    [[nodiscard]] Result<bool> compact_series(const SessionName& session, Series series,
                                              const std::vector<Named>& named);
    [[nodiscard]] Result<Run> read_run(const SessionName& session, Series series, const std::vector<Named>& named,
                                       Seq& next);
    [[nodiscard]] Result<bool> write(const Changes& changes, CompactionStep step);

    const Engine* engine_;
    const KeyedReads* reads_;
    Partition partition_;
    CompactionSteps steps_;
    BlockCompactor blocks_;
};

}  // namespace perfleet
