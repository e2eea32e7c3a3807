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
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/sealer.h"
#include "target-collector/ring/spsc_ring.h"

namespace perfleet {

class DeliveryLosses {
public:
    // `memory` is shared out to kCountTables books. Borrowed.
    static constexpr std::size_t kCountTables = 3;
    explicit DeliveryLosses(std::span<CountEntry> memory);

    // The oldest batch that was kept is dropped. Where limits::kDroppedRangesMax ranges wait already, it is joined to
    // the one before it, with the acknowledged batches in between: their rows count as lost, too, for whoever makes a
    // ledger takes the rows of held batches in named ranges off. False (and nothing has happened) when there is nothing
    // to join it to. `reason`: why its rows are lost.
    [[nodiscard]] bool drop_oldest(Seq seq, EpochNumber epoch, std::span<const SealedRecord::Rows> rows,
                                   CountName reason = CountName::kLostSpoolFull);

    // A batch that could not be kept at all, newer than all that are. False when limits::kDroppedRangesMax ranges wait
    // to be acknowledged, none of them its neighbour.
    [[nodiscard]] bool drop_newest(Seq seq, EpochNumber epoch, std::span<const SealedRecord::Rows> rows);

    // The oldest batch that was kept is durable.
    void count_acknowledged(std::span<const SealedRecord::Rows> rows);

    // The gateway can never store the batch.
    void count_refused(EpochNumber epoch, std::span<const SealedRecord::Rows> rows);

    // A batch that was sealed after this notice is durable: what the notice named needs no naming any more.
    void acknowledge(std::uint64_t report_number);

    // Passes the state on when it has changed. True when it did; a full ring is tried again with the next call.
    bool report(SpscRing& losses);

    [[nodiscard]] std::span<const CountEntry> counts() const { return counts_.entries(); }
    [[nodiscard]] std::span<const SeqRange> ranges() const { return {ranges_.data(), range_count_}; }
    // Rows of acknowledged batches that no dropped range covers, as kProduced: up to the last drop of an oldest batch,
    // and since then; and that batch, 0: none.
    [[nodiscard]] std::span<const CountEntry> acknowledged() const { return acknowledged_.entries(); }
    [[nodiscard]] std::span<const CountEntry> since_drop() const { return since_drop_.entries(); }
    [[nodiscard]] Seq last_dropped() const { return last_dropped_; }

    // Goes on from what another counted; its ranges are named to the end.
    struct Left {
        std::span<const SeqRange> ranges;
        std::span<const CountEntry> counts;
        std::span<const CountEntry> acknowledged;
        std::span<const CountEntry> since_drop;
        Seq last_dropped;
    };
    void restore(const Left& left);

private:
    [[nodiscard]] bool has_neighbour(Seq seq) const;
    [[nodiscard]] bool join_to_last_dropped(Seq seq);
    void erase_ranges(std::size_t first, std::size_t last);
    void count(CountName reason, EpochNumber epoch, std::span<const SealedRecord::Rows> rows);
    void add_to_ranges(Seq seq);
    // Index of the first range that ends at `seq` − 1 or later.
    [[nodiscard]] std::size_t range_near(Seq seq) const;

    // Ascending, with a gap between each two. Each with the first notice that tells all of it.
    std::array<SeqRange, limits::kDroppedRangesMax> ranges_{};
    std::array<std::uint64_t, limits::kDroppedRangesMax> reported_by_{};
    std::size_t range_count_ = 0;
    CountTable counts_;
    CountTable acknowledged_;
    CountTable since_drop_;
    Seq last_dropped_;
    bool has_lost_definitions_ = false;
    EpochNumber lost_definitions_epoch_;
    std::uint64_t next_number_ = 1;
    bool is_news_ = false;
};

}  // namespace perfleet
