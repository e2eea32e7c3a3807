// Reads the batches and blocks of one partition that can be compacted, and makes the changes that compact them. Their
// meaning: storage/FORMAT.md.
//
// A batch at or below its session's watermark never comes again, so what is read here doesn't change until it is
// compacted or dropped; `commit` checks this before it writes. Blocks are compacted first, then the records of their
// batches: compacted records show that nothing is left to do, and interrupted work starts again and skips what was
// compacted already.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/block/block_compactor.h"
#include "storage/compact/partition_maker.h"
#include "storage/model/batch.h"
#include "storage/model/keys.h"

namespace perfleet {

class Compactor : private PartitionMaker {
public:
    using PartitionMaker::Commit;
    using PartitionMaker::OnStep;
    using PartitionMaker::Outcome;
    using PartitionMaker::PartitionMaker;

    [[nodiscard]] Result<Outcome> compact_partition();
    [[nodiscard]] Result<Outcome> compact_session(const SessionName& session);

private:
    // Consecutive batch records, none compacted, none damaged.
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

    BlockCompactor blocks_;
};

}  // namespace perfleet
