// The Linux collector's sink: passes rows to the sealer.
#pragma once

#include <atomic>

#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/message/row_sink.h"
#include "target-collector/message/sealer.h"

namespace perfleet {

class SealerSink final : public RowSink {
public:
    // Borrowed.
    SealerSink(Sealer& sealer, const BucketClock& clock, std::atomic<bool>& ends_epoch)
        : sealer_{sealer}, clock_{clock}, ends_epoch_{ends_epoch} {}

    void append(const RowView& row) override { sealer_.append(row); }
    void count_lost(Series series, CountName reason, std::uint64_t row_count) override {
        sealer_.count_lost(series, reason, row_count);
    }
    void count(Series series, CountName name, std::uint64_t value) override { sealer_.count(series, name, value); }
    [[nodiscard]] bool epoch_is_over() const override {
        return ends_epoch_.load(std::memory_order_relaxed) || sealer_.epoch_is_over();
    }
    void begin_epoch(Ticks now) override {
        ends_epoch_ = false;
        sealer_.begin_epoch(now, clock_.now(monotonic_now()));
    }

private:
    Sealer& sealer_;
    const BucketClock& clock_;
    std::atomic<bool>& ends_epoch_;  // another thread wants a new one
};

}  // namespace perfleet
