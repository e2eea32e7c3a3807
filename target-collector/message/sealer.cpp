#include "target-collector/message/sealer.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"

namespace perfleet {
namespace {

// Writes the header of a reserved record; its other bytes follow.
void write_header(std::span<std::byte> record, const SealedRecord& header) {
    std::memcpy(record.data(), &header, sizeof header);
}

}  // namespace

SealerCore::SealerCore(const Options& options, BatchBuilderCore& builder, CountTable& counts, CountTable& wire_losses,
                       SpscRing& batches, SpscRing& losses)
    : session_{options.session},
      batch_rows_max_{options.batch_rows_max},
      batch_age_ticks_max_{options.batch_age_ticks_max},
      live_{options.live},
      builder_{builder},
      counts_{counts},
      batches_{batches},
      losses_{losses},
      last_sealed_{options.sealed_before},
      epoch_{options.first_epoch},
      wire_losses_{wire_losses} {
    PERFLEET_ASSERT(batch_rows_max_ > 0 && batch_rows_max_ <= limits::kBatchRowsMax);
    PERFLEET_ASSERT(batches.memory_size_bytes() >= batch_ring_size_bytes_min(counts.entry_count_max()));
    // Ensures that every batch fits into an empty ring.
    builder_.limit_sealed_size_bytes(
        SpscRing::record_size_bytes_max(batches.memory_size_bytes()) - sizeof(SealedRecord), counts.entry_count_max());
}

void SealerCore::grant_session(SessionId session, UtcNs utc) {
    PERFLEET_ASSERT(!has_session() && !session.is_none() && last_sealed_ == Seq{0});
    session_ = session;
    bucket_ = bucket_of(utc);
    bucket_now_ = bucket_;
}

void SealerCore::append(const RowView& row) {
    PERFLEET_ASSERT(has_begun_ && !is_finished_);
    count_live(row.series, CountName::kProduced, 1);
    if (!builder_.append(row)) {
        seal(row.time, WhenFull::kCountLost);
        if (!builder_.append(row)) {
            // The row is too large for any batch.
            counts_.add(row.series, CountName::kProduced, 1);
            counts_.add(row.series, CountName::kLostRingFull, 1);
            count_live(row.series, CountName::kLostRingFull, 1);
            has_lost_definition_ = has_lost_definition_ || is_definition(row.series.kind);
            return;
        }
    }
    if (builder_.row_count() == 1) {
        // A row may be older than last_tick_, and its batch would otherwise be sealed at once.
        gathering_since_ = row.time > last_tick_ ? row.time : last_tick_;
    }
    if (builder_.row_count() >= batch_rows_max_) {
        seal(row.time, WhenFull::kCountLost);
    }
}

void SealerCore::count_lost(Series series, CountName reason, std::uint64_t row_count) {
    PERFLEET_ASSERT(is_loss(reason) && reason != CountName::kLostSpoolFull && reason != CountName::kLostRefused);
    counts_.add(series, CountName::kProduced, row_count);
    counts_.add(series, reason, row_count);
    count_live(series, CountName::kProduced, row_count);
    count_live(series, reason, row_count);
}

void SealerCore::count(Series series, CountName name, std::uint64_t value) {
    PERFLEET_ASSERT(!is_loss(name) && name != CountName::kProduced);
    counts_.add(series, name, value);
    count_live(series, name, value);
}

void SealerCore::count_live(Series series, CountName name, std::uint64_t value) {
    if (live_ != nullptr) {
        live_->add(series, name, value);
    }
}

void SealerCore::tick(Ticks now, UtcNs utc) {
    last_tick_ = now;
    bucket_now_ = bucket_of(utc);
    take_up_losses();
    if (has_session() && builder_.row_count() > 0 && now.value - gathering_since_.value >= batch_age_ticks_max_ &&
        now >= gathering_since_) {
        seal(now, WhenFull::kCountLost);
    }
}

void SealerCore::add_clock_point(const ClockPoint& point) {
    if (clock_point_count_ == clock_points_.size()) {
        // No batch could be passed on for a long time: half of the points still show the clock's course.
        for (std::size_t i = 0; i < clock_points_.size() / 2; ++i) {
            clock_points_[i] = clock_points_[2 * i];
        }
        clock_point_count_ = clock_points_.size() / 2;
    }
    clock_points_[clock_point_count_++] = point;
}

bool SealerCore::epoch_is_over() const {
    return !has_begun_ || has_lost_definition_ || (has_session() && bucket_now_ != bucket_);
}

void SealerCore::begin_epoch(Ticks now, UtcNs utc) {
    if (has_begun_) {
        seal(now, WhenFull::kCountLost);
        ++epoch_.value;
    }
    has_begun_ = true;
    has_lost_definition_ = false;
    bucket_ = bucket_of(utc);
    bucket_now_ = bucket_;
}

EpochNumber SealerCore::epoch() const { return epoch_; }

void SealerCore::flush(Ticks now) { seal(now, WhenFull::kCountLost); }

bool SealerCore::finish(const ClockPoint& end) {
    if (is_finished_) {
        return true;
    }
    take_up_losses();
    if (!seal(end.ticks, WhenFull::kKeep)) {
        return false;
    }
    const auto entries = counts_.entries();
    const auto record = batches_.reserve(sizeof(SealedRecord) + entries.size_bytes());
    if (record.empty()) {
        return false;
    }
    SealedRecord header;
    header.type = SealedRecord::Type::kFinal;
    header.seq = last_sealed_;
    header.epoch = epoch_;
    header.end_point = end;
    write_header(record, header);
    if (!entries.empty()) {
        std::memcpy(record.data() + sizeof header, entries.data(), entries.size_bytes());
    }
    batches_.commit(record.size());
    is_finished_ = true;
    return true;
}

bool SealerCore::seal(Ticks now, WhenFull when_full) {
    if (builder_.row_count() == 0) {
        return true;
    }
    if (!has_session()) {
        if (when_full == WhenFull::kCountLost) {
            lose_gathered();
        }
        return false;
    }
    // Counting the rows adds at most one entry per series.
    const std::size_t counts_then = counts_.entries().size() + builder_.series_count_max();
    const std::size_t counts_max = counts_then < counts_.entry_count_max() ? counts_then : counts_.entry_count_max();
    const auto record = batches_.reserve(
        sizeof(SealedRecord) + builder_.sealed_size_bytes_max(counts_max, dropped_count_, clock_point_count_));
    if (record.empty()) {
        if (when_full == WhenFull::kCountLost) {
            lose_gathered();
        }
        return false;
    }
    count_gathered();
    SealedRecord header;
    header.type = SealedRecord::Type::kBatch;
    header.seq = Seq{last_sealed_.value + 1};
    header.epoch = epoch_;
    header.report_number = report_number_;
    builder_.each_series([&](Series series, std::uint32_t row_count) {
        header.rows[header.series_count++] = SealedRecord::Rows{series, row_count};
    });
    write_header(record, header);
    const auto size = builder_.seal(BatchHeader{session_, header.seq, epoch_, bucket_}, now, counts_.entries(),
                                    std::span<const SeqRange>{dropped_}.first(dropped_count_),
                                    std::span<const ClockPoint>{clock_points_}.first(clock_point_count_),
                                    record.subspan(sizeof header));
    PERFLEET_ASSERT(size.ok());
    batches_.commit(sizeof header + *size);
    last_sealed_ = header.seq;
    clock_point_count_ = 0;
    builder_.clear();
    return true;
}

void SealerCore::count_gathered() {
    builder_.each_series(
        [&](Series series, std::uint32_t row_count) { counts_.add(series, CountName::kProduced, row_count); });
}

void SealerCore::lose_gathered() {
    count_gathered();
    builder_.each_series([&](Series series, std::uint32_t row_count) {
        counts_.add(series, CountName::kLostRingFull, row_count);
        count_live(series, CountName::kLostRingFull, row_count);
        has_lost_definition_ = has_lost_definition_ || is_definition(series.kind);
    });
    builder_.clear();
}

void SealerCore::take_up_losses() {
    for (auto record = losses_.acquire(); !record.empty(); record = losses_.acquire()) {
        LossReport report;
        PERFLEET_ASSERT(record.size() >= sizeof report);
        std::memcpy(&report, record.data(), sizeof report);
        const std::size_t ranges_size = report.range_count * sizeof(SeqRange);
        PERFLEET_ASSERT(report.range_count <= dropped_.size() &&
                        record.size() == sizeof report + ranges_size + report.entry_count * sizeof(CountEntry));
        report_number_ = report.number;
        dropped_count_ = report.range_count;
        if (ranges_size > 0) {
            std::memcpy(dropped_.data(), record.data() + sizeof report, ranges_size);
        }
        count_wire_losses(record.subspan(sizeof report + ranges_size));
        if (report.has_lost_definitions && has_begun_ && report.lost_definitions_epoch == epoch_) {
            has_lost_definition_ = true;
        }
        losses_.release();
    }
}

void SealerCore::count_wire_losses(std::span<const std::byte> counts) {
    for (std::size_t at = 0; at < counts.size(); at += sizeof(CountEntry)) {
        CountEntry entry;
        std::memcpy(&entry, counts.data() + at, sizeof entry);
        const std::uint64_t grown = entry.value - wire_losses_.get(entry.series, entry.name);
        wire_losses_.add(entry.series, entry.name, grown);
        counts_.add(entry.series, entry.name, grown);
    }
}

}  // namespace perfleet
