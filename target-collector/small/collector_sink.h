// Passes a source's rows to a SmallCollector.
//
// Freestanding; one thread, the collector's.
#pragma once

#include "target-collector/message/row_sink.h"
#include "target-collector/small/small_collector.h"

namespace perfleet {

class CollectorSink final : public RowSink {
public:
    // Borrows `collector`.
    explicit CollectorSink(SmallCollector& collector) : collector_{collector} {}

    void append(const RowView& row) override { collector_.append(row); }
    void count_lost(Series series, CountName reason, std::uint64_t row_count) override {
        collector_.count_lost(series, reason, row_count);
    }
    void count(Series series, CountName name, std::uint64_t value) override { collector_.count(series, name, value); }
    // The collector itself begins its epochs.
    [[nodiscard]] bool epoch_is_over() const override { return false; }
    void begin_epoch(Ticks /*now*/) override {}

private:
    SmallCollector& collector_;
};

}  // namespace perfleet
