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
#include "storage/compact/partition_maker.h"
#include "storage/key/key_bytes.h"
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

    BlockCompactor blocks_;
};

}  // namespace perfleet
