// Seals rows of a session into batches, as a collector does, and passes them on one by one.
//
// One thread. After the first error, which error() keeps, all rows are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "target-collector/intake/session/session_writer.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/message/sealer.h"
#include "target-collector/ring/spsc_ring.h"

namespace perfleet {

// The time of `ticks` (ns) on a clock that shows point.ticks at point.utc_ns. Times come from files: those out of range
// become the first or the last possible time.
[[nodiscard]] UtcNs utc_at(const ClockPoint& point, std::uint64_t ticks);

class SealedRows final : public RowSink {
public:
    static constexpr std::size_t kRingSizeBytes = 2U << 20;  // half of it is the largest batch

    // The part of the session that is sealed already.
    struct Before {
        Seq last_seq{0};
        EpochNumber next_epoch{0};
        SessionCounts counts{};
    };

    // Borrows `writer`.
    explicit SealedRows(SessionWriter& writer) : SealedRows{writer, Before{}, kRingSizeBytes} {}
    SealedRows(SessionWriter& writer, const Before& before, std::size_t ring_size_bytes);

    void append(const RowView& row) override;
    void count_lost(Series series, CountName reason, std::uint64_t row_count) override {
        sealer_.count_lost(series, reason, row_count);
    }
    void count(Series series, CountName name, std::uint64_t value) override { sealer_.count(series, name, value); }
    [[nodiscard]] bool epoch_is_over() const override { return sealer_.epoch_is_over(); }
    void begin_epoch(Ticks now) override;

    // Advances the time: an epoch may end.
    void tick(Ticks now);

    // Passes on the waiting rows.
    void flush(Ticks now);

    // Passes on the rest, and the session's end. Errors: the first one.
    [[nodiscard]] Result<Done> finish(const ClockPoint& end);
    [[nodiscard]] Result<Done> finish(Ticks end) { return finish({end, utc_of(end), 0}); }

    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

    [[nodiscard]] Seq last_seq() const { return sealer_.last_sealed(); }
    // For another object that continues the session.
    [[nodiscard]] Before so_far() const { return {sealer_.last_sealed(), {sealer_.epoch().value + 1}, counts_}; }

private:
    [[nodiscard]] UtcNs utc_of(Ticks ticks) const { return utc_at(writer_.record().start_point, ticks.value); }
    void drain();
    [[nodiscard]] Result<Done> pass_on(std::span<const std::byte> record);

    SessionWriter& writer_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::unique_ptr<std::byte[]> ring_memory_;  // pages are untouched until used
    std::vector<std::byte> losses_memory_;
    SpscRing batches_;
    SpscRing losses_;
    BatchBuilder builder_;
    SessionCounts counts_;
    Sealer sealer_;
    std::uint64_t next_tick_ns_ = 0;
    std::optional<Error> error_;
};

}  // namespace perfleet
