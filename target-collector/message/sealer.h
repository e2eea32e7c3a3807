// Seals rows into batches and puts them into the ring: counts produced and lost rows, numbers batches, ends epochs.
//
// Freestanding; used by the source's thread alone. The reader of the ring is the wire (wire/delivery.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/live_counts.h"
#include "target-collector/ring/spsc_ring.h"

namespace perfleet {

// A record in the ring to the wire: this header, then the sealed message (aligned to 8).
struct SealedRecord {
    enum class Type : std::uint32_t { kBatch = 1, kFinal = 2 };
    Type type{};
    std::uint32_t series_count = 0;   // kBatch: number of `rows` that are set
    Seq seq;                          // kBatch: of the batch; kFinal: the last that was sealed
    std::uint64_t report_number = 0;  // kBatch: the last LossReport before it, whose ranges it carries; 0: none
    ClockPoint end_point;             // kFinal
    EpochNumber epoch;                // kBatch
    struct Rows {
        Series series;
        std::uint32_t row_count = 0;
    };
    std::array<Rows, limits::kBatchSeriesMax> rows{};
    // kBatch: the message follows. kFinal: the counts (CountEntry[]) follow, up to the record's end.
};
static_assert(sizeof(SealedRecord) % 8 == 0);

// The wire's report to the sealer, through a second, small ring: all losses so far. It is a state, not an event: each
// report replaces the one before, so that a full ring loses nothing.
struct LossReport {
    std::uint64_t number = 0;       // 1, 2, …
    std::uint32_t range_count = 0;  // dropped batches that no acknowledged batch has reported yet
    std::uint32_t entry_count = 0;  // rows lost in the wire since the session began (kLostSpoolFull, kLostRefused)
    bool has_lost_definitions = false;
    EpochNumber lost_definitions_epoch;  // the last epoch that lost definitions
    // SeqRange[range_count] and CountEntry[entry_count] follow.
};
static_assert(sizeof(LossReport) % 8 == 0);

// Size in bytes of that second ring for count tables of `entry_count_max` entries: two of the largest reports.
[[nodiscard]] constexpr std::size_t loss_report_ring_size_bytes(std::size_t entry_count_max) {
    const std::size_t report_size_bytes =
        sizeof(LossReport) + limits::kDroppedRangesMax * sizeof(SeqRange) + entry_count_max * sizeof(CountEntry);
    std::size_t size_bytes = 64;
    while (SpscRing::record_size_bytes_max(size_bytes) < report_size_bytes) {
        size_bytes *= 2;
    }
    return size_bytes;
}
inline constexpr std::size_t kLossReportRingSizeBytes = loss_report_ring_size_bytes(limits::kCountsMax);

// Minimum size in bytes of a ring of batches, so that a few rows and all counts fit into one batch.
[[nodiscard]] constexpr std::size_t batch_ring_size_bytes_min(std::size_t entry_count_max) {
    return std::size_t{2} * (8'192 + sizeof(SealedRecord) + entry_count_max * sizeof(CountEntry));
}
inline constexpr std::size_t kBatchRingSizeBytesMin = 64U << 10;
static_assert(kBatchRingSizeBytesMin >= batch_ring_size_bytes_min(limits::kCountsMax));

class SealerCore {
public:
    struct Options {
        SessionId session;  // none: nothing is sealed until grant_session()
        std::uint32_t batch_rows_max = limits::kBatchRowsMax;
        std::uint64_t batch_age_ticks_max = 0;  // kBatchAgeNsMax in the session's ticks
        LiveCounts* live = nullptr;             // counts here, too, immediately. Borrowed; null: disabled
        // To continue a session that another object has sealed so far; `counts` has its counts then.
        Seq sealed_before{0};
        EpochNumber first_epoch{0};
    };

    // All borrowed. `batches` leads to the wire; its size is at least batch_ring_size_bytes_min(), and batches are
    // sealed early if it is too small for full ones. `losses` comes from the wire. `wire_losses` is a separate table as
    // large as `counts`.
    SealerCore(const Options& options, BatchBuilderCore& builder, CountTable& counts, CountTable& wire_losses,
               SpscRing& batches, SpscRing& losses);

    // Sets the session that the gateway has granted; to be called once. Rows since begin_epoch() belong to the bucket
    // of `utc`, which a target without a clock doesn't know earlier.
    void grant_session(SessionId session, UtcNs utc);
    [[nodiscard]] bool has_session() const { return !session_.is_none(); }

    // Takes over a row: counts it as produced, and as lost (ring full) if its batch can't be passed on. Seals the batch
    // when it is full.
    void append(const RowView& row);

    // Counts rows that never became rows here (kernel losses and the like): lost and therefore produced. Not for
    // kLostSpoolFull and kLostRefused, which the wire counts.
    void count_lost(Series series, CountName reason, std::uint64_t row_count);

    // Adds to counts that aren't numbers of rows (kFramesUnmapped, kThrottled, …).
    void count(Series series, CountName name, std::uint64_t value);

    // To be called at every turn of the loop. Seals a batch that is old enough, reads loss reports, and determines the
    // bucket of `utc`.
    void tick(Ticks now, UtcNs utc);

    // Adds a clock point to the next batch.
    void add_clock_point(const ClockPoint& point);

    // True when the epoch must end: its bucket is over, or one of its definitions was lost. The source then calls
    // begin_epoch(), restarts its numbering, and defines tasks and mappings again.
    [[nodiscard]] bool epoch_is_over() const;

    // Seals the collected rows and begins the next epoch, in the bucket of `utc`. Also called when a table of the
    // source is full.
    void begin_epoch(Ticks now, UtcNs utc);
    [[nodiscard]] EpochNumber epoch() const;

    // Seals the collected rows.
    void flush(Ticks now);

    // Seals the collected rows and passes on the final counts; nothing may follow. False while the ring has no space:
    // call again.
    [[nodiscard]] bool finish(const ClockPoint& end);

    [[nodiscard]] Seq last_sealed() const { return last_sealed_; }

private:
    enum class WhenFull { kCountLost, kKeep };

    // Seals the collected rows. False: the ring had no space, or there is no session yet; `when_full` says whether the
    // rows are counted as lost or kept.
    bool seal(Ticks now, WhenFull when_full);
    void count_gathered();
    void lose_gathered();
    void count_live(Series series, CountName name, std::uint64_t value);
    void take_up_losses();
    void count_wire_losses(std::span<const std::byte> counts);

    SessionId session_;
    std::uint32_t batch_rows_max_;
    std::uint64_t batch_age_ticks_max_;
    LiveCounts* live_;
    BatchBuilderCore& builder_;
    CountTable& counts_;
    SpscRing& batches_;
    SpscRing& losses_;

    Seq last_sealed_{0};
    EpochNumber epoch_{0};
    BucketNumber bucket_{0};            // of the epoch
    BucketNumber bucket_now_{0};        // of the last tick's UTC
    bool has_begun_ = false;            // an epoch has begun
    bool has_lost_definition_ = false;  // of the running epoch
    bool is_finished_ = false;
    Ticks last_tick_{0};
    Ticks gathering_since_{0};

    std::array<ClockPoint, limits::kClockPointsMax> clock_points_{};
    std::size_t clock_point_count_ = 0;

    // From the last LossReport.
    std::uint64_t report_number_ = 0;
    std::array<SeqRange, limits::kDroppedRangesMax> dropped_{};
    std::size_t dropped_count_ = 0;
    CountTable& wire_losses_;  // the part that counts_ includes already
};

struct SealerCounts {
    SessionCounts wire_losses;
};

// With as many counts as a batch may carry.
class Sealer final : private SealerCounts, public SealerCore {
public:
    Sealer(const Options& options, BatchBuilder& builder, SessionCounts& counts, SpscRing& batches, SpscRing& losses)
        : SealerCore{options, builder, counts, wire_losses, batches, losses} {}
};

}  // namespace perfleet
