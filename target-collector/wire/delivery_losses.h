// What the wire has lost: rows by reason, and the ranges of dropped batches that no acknowledged batch has named yet.
// It is told to the sealer, which names it in the next batches, and it stands in the Bye.
//
// Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/kind.h"
#include "schemas/vocabulary/limits.h"
#include "target-collector/message/sealer.h"
#include "target-collector/message/tally_book.h"
#include "target-collector/ring/spsc_ring.h"

namespace perfleet {

class DeliveryLosses {
public:
    // False when limits::kDroppedRangesMax ranges wait to be acknowledged, none of them a neighbour of `seq`.
    [[nodiscard]] bool can_drop(Seq seq) const;

    // The batch was dropped. Only when can_drop(seq).
    void count_dropped(Seq seq, EpochNumber epoch, std::span<const SealedRecord::Rows> rows);

    // The gateway can never store the batch.
    void count_refused(EpochNumber epoch, std::span<const SealedRecord::Rows> rows);

    // A batch that was sealed after this notice is durable: what the notice named needs no naming any more.
    void acknowledge(std::uint64_t notice_number);

    // Passes the state on when it has changed. True when it did; a full ring is tried again with the next call.
    bool tell(SpscRing& losses);

    [[nodiscard]] std::span<const Tally> tallies() const { return tallies_.entries(); }
    [[nodiscard]] std::span<const SeqRange> ranges() const { return {ranges_.data(), range_count_}; }

private:
    void count(TallyName reason, EpochNumber epoch, std::span<const SealedRecord::Rows> rows);
    void add_to_ranges(Seq seq);
    // Index of the first range that ends at `seq` − 1 or later.
    [[nodiscard]] std::size_t range_near(Seq seq) const;

    // Ascending, with a gap between each two. Each with the first notice that tells all of it.
    std::array<SeqRange, limits::kDroppedRangesMax> ranges_{};
    std::array<std::uint64_t, limits::kDroppedRangesMax> told_by_{};
    std::size_t range_count_ = 0;
    TallyBook tallies_;
    bool has_lost_definitions_ = false;
    EpochNumber lost_definitions_epoch_;
    std::uint64_t next_number_ = 1;
    bool is_news_ = false;
};

}  // namespace perfleet
