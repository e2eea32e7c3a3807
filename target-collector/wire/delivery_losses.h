// The wire's losses: rows by reason, and ranges of dropped batches that no acknowledged batch has reported yet. They
// are reported to the sealer, which puts them into the next batches, and in the Bye.
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
    // `memory` is divided into kCountTables tables. Borrowed.
    static constexpr std::size_t kCountTables = 3;
    explicit DeliveryLosses(std::span<CountEntry> memory);

    // Drops the oldest kept batch. If limits::kDroppedRangesMax ranges are pending, it is merged with the range before
    // it, including the acknowledged batches in between: their rows count as lost, too, because ledgers subtract stored
    // rows in reported ranges. False, without changes, if there is no range to merge with. `reason`: why its rows are
    // lost.
    [[nodiscard]] bool drop_oldest(Seq seq, EpochNumber epoch, std::span<const SealedRecord::Rows> rows,
                                   CountName reason = CountName::kLostSpoolFull);

    // Drops a batch that could not be kept, newer than all kept ones. False if limits::kDroppedRangesMax ranges are
    // pending and none is its neighbour.
    [[nodiscard]] bool drop_newest(Seq seq, EpochNumber epoch, std::span<const SealedRecord::Rows> rows);

    // The oldest kept batch is durable.
    void count_acknowledged(std::span<const SealedRecord::Rows> rows);

    // The gateway has refused the batch for good.
    void count_refused(EpochNumber epoch, std::span<const SealedRecord::Rows> rows);

    // A batch that was sealed after this report is durable: ranges of the report need no further reporting.
    void acknowledge(std::uint64_t report_number);

    // Reports the state if it has changed. True if it did; with a full ring the next call tries again.
    bool report(SpscRing& losses);

    [[nodiscard]] std::span<const CountEntry> counts() const { return counts_.entries(); }
    [[nodiscard]] std::span<const SeqRange> ranges() const { return {ranges_.data(), range_count_}; }
    // Rows of acknowledged batches that no dropped range covers, as kProduced: up to the last drop of an oldest batch,
    // and since then; and the seq of that batch, 0: none.
    [[nodiscard]] std::span<const CountEntry> acknowledged() const { return acknowledged_.entries(); }
    [[nodiscard]] std::span<const CountEntry> since_drop() const { return since_drop_.entries(); }
    [[nodiscard]] Seq last_dropped() const { return last_dropped_; }

    // Continues from the counts of an earlier process; its ranges are reported until they are acknowledged.
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

    // Ascending, not adjacent. Each with the first report that contains all of it.
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
