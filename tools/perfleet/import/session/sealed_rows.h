// Rows of a session, sealed into batches as a collector does and passed on one by one.
//
// One thread. The first error stays, and everything behind it is dropped: ask error().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "target-collector/message/batch_builder.h"
#include "target-collector/message/count_table.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/message/sealer.h"
#include "target-collector/ring/spsc_ring.h"
#include "tools/perfleet/import/session/session_writer.h"

namespace perfleet {

// The moment of `ticks` (ns) on a clock that shows point.ticks at point.utc_ns; times come from files, and the first or
// the last moment there is stands for those beyond.
[[nodiscard]] UtcNs utc_at(const ClockPoint& point, std::uint64_t ticks);

class SealedRows final : public RowSink {
public:
    // Borrowed.
    explicit SealedRows(SessionWriter& writer);

    void append(const RowView& row) override;
    void count_lost(Series series, CountName reason, std::uint64_t row_count) override {
        sealer_.count_lost(series, reason, row_count);
    }
    void count(Series series, CountName name, std::uint64_t value) override { sealer_.count(series, name, value); }
    [[nodiscard]] bool epoch_is_over() const override { return sealer_.epoch_is_over(); }
    void begin_epoch(Ticks now) override;

    // Time goes on: an epoch may be over.
    void tick(Ticks now);

    // Passes on what waits.
    void flush(Ticks now);

    // The rest, and the session's end. Errors: the first one.
    [[nodiscard]] Result<Done> finish(const ClockPoint& end);
    [[nodiscard]] Result<Done> finish(Ticks end) { return finish({end, utc_of(end), 0}); }

    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

private:
    [[nodiscard]] UtcNs utc_of(Ticks ticks) const { return utc_at(writer_.record().start_point, ticks.value); }
    void drain();
    [[nodiscard]] Result<Done> pass_on(std::span<const std::byte> record);

    SessionWriter& writer_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    std::unique_ptr<std::byte[]> ring_memory_;  // untouched until it is used
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
