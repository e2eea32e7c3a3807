// From rows to sealed batches in the ring: counts what is produced and lost, numbers batches, closes epochs.
//
// Freestanding; used by the source's thread alone. The ring's other end is the wire (wire/delivery.h).
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

// What travels through the ring to the wire: this header, then the sealed message (aligned to 8).
struct SealedRecord {
    enum class Type : std::uint32_t { kBatch = 1, kFinal = 2 };
    Type type{};
    std::uint32_t series_count = 0;   // kBatch: how many of `rows` are set
    Seq seq;                          // kBatch: of the batch; kFinal: the last that was sealed
    std::uint64_t report_number = 0;  // kBatch: the last LossReport before it, whose ranges it names; 0: none
    ClockPoint end_point;             // kFinal
    EpochNumber epoch;                // kBatch
    struct Rows {
        Series series;
        std::uint32_t row_count = 0;
    };
    std::array<Rows, limits::kBatchSeriesMax> rows{};
    // kBatch: the message follows. kFinal: the counts (CountEntry[]) follow, to the record's end.
};
static_assert(sizeof(SealedRecord) % 8 == 0);

// What the wire tells the sealer, through a second, small ring: everything that it lost so far. A state, not an event:
// each replaces the one before, so that a full ring loses nothing.
struct LossReport {
    std::uint64_t number = 0;       // 1, 2, …
    std::uint32_t range_count = 0;  // dropped batches that no acknowledged batch has named yet
    std::uint32_t entry_count = 0;  // rows lost in the wire since the session began (kLostSpoolFull, kLostRefused)
    bool has_lost_definitions = false;
    EpochNumber lost_definitions_epoch;  // the last epoch that lost definitions
    // SeqRange[range_count] and CountEntry[entry_count] follow.
};
static_assert(sizeof(LossReport) % 8 == 0);

// The size of that second ring where count tables have so many entries: two of the largest reports.
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

// A ring of batches must be at least so large: a few rows go into one beside all counts.
[[nodiscard]] constexpr std::size_t batch_ring_size_bytes_min(std::size_t entry_count_max) {
    return std::size_t{2} * (8'192 + sizeof(SealedRecord) + entry_count_max * sizeof(CountEntry));
}
inline constexpr std::size_t kBatchRingSizeBytesMin = 64U << 10;
static_assert(kBatchRingSizeBytesMin >= batch_ring_size_bytes_min(limits::kCountsMax));

class SealerCore {
public:
    struct Options {
        SessionId session;  // none: until grant_session(), nothing is sealed
        std::uint32_t batch_rows_max = limits::kBatchRowsMax;
        std::uint64_t batch_age_ticks_max = 0;  // kBatchAgeNsMax in the session's ticks
        LiveCounts* live = nullptr;             // also counts everything there, at once. Borrowed; null: nowhere
    };

    // Borrowed: `batches` leads to the wire (at least batch_ring_size_bytes_min(); batches close early where it is too
    // small for full ones), `losses` comes from it. `wire_losses` is a table of its own, as large as `counts`.
    SealerCore(const Options& options, BatchBuilderCore& builder, CountTable& counts, CountTable& wire_losses,
               SpscRing& batches, SpscRing& losses);

    // The session that the gateway has granted, once. What was gathered since begin_epoch() lies in the bucket of
    // `utc`, which a target without a clock knows no sooner.
    void grant_session(SessionId session, UtcNs utc);
    [[nodiscard]] bool has_session() const { return !session_.is_none(); }

    // Takes a row over: counts it as produced, and as lost (ring full) if its batch can't be passed on. Seals the batch
    // when it is full.
    void append(const RowView& row);

    // Counts rows that never became rows here (kernel losses and the like): lost and therefore produced. Not for
    // kLostSpoolFull and kLostRefused, which the wire counts.
    void count_lost(Series series, CountName reason, std::uint64_t row_count);

    // Counts what is no row (kFramesUnmapped, kThrottled, …).
    void count(Series series, CountName name, std::uint64_t value);

    // To be called at every turn of the loop. Seals a batch that is old enough, takes up loss notices, and learns the
    // bucket that `utc` lies in.
    void tick(Ticks now, UtcNs utc);

    // A clock point to travel with the next batch.
    void add_clock_point(const ClockPoint& point);

    // True when the running epoch can't go on: its bucket is over, or a definition of it was lost. The source then
    // calls begin_epoch(), forgets its numbering, and defines tasks and mappings anew.
    [[nodiscard]] bool epoch_is_over() const;

    // Seals what there is and starts the next epoch, in the bucket of `utc`. Also called when a table of the source is
    // full.
    void begin_epoch(Ticks now, UtcNs utc);
    [[nodiscard]] EpochNumber epoch() const;

    // Seals what there is.
    void flush(Ticks now);

    // Seals what there is and passes on the final counts; nothing may follow. False while the ring has no room: call
    // again.
    [[nodiscard]] bool finish(const ClockPoint& end);

    [[nodiscard]] Seq last_sealed() const { return last_sealed_; }

private:
    enum class WhenFull { kCountLost, kKeep };

    // Seals what was gathered. False: there was no room in the ring, or no session yet; the rows are counted lost or
    // kept, as told.
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
    BucketNumber bucket_now_{0};        // that the last tick's UTC lies in
    bool has_begun_ = false;            // an epoch
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
    CountTable& wire_losses_;  // what of it stands in counts_ already
};

struct SealerCounts {
    SessionCounts wire_losses;
};

// With a table as large as a batch may carry.
class Sealer final : private SealerCounts, public SealerCore {
public:
    Sealer(const Options& options, BatchBuilder& builder, SessionCounts& counts, SpscRing& batches, SpscRing& losses)
        : SealerCore{options, builder, counts, wire_losses, batches, losses} {}
};

}  // namespace perfleet
