#include "target-collector/wire/delivery_losses.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"

namespace perfleet {

DeliveryLosses::DeliveryLosses(std::span<CountEntry> memory)
    : counts_{memory.first(memory.size() / kCountTables)},
      acknowledged_{memory.subspan(memory.size() / kCountTables, memory.size() / kCountTables)},
      since_drop_{memory.last(memory.size() / kCountTables)} {}

std::size_t DeliveryLosses::range_near(Seq seq) const {
    std::size_t index = 0;
    while (index < range_count_ && ranges_[index].last.value + 1 < seq.value) {
        ++index;
    }
    return index;
}

bool DeliveryLosses::has_neighbour(Seq seq) const {
    const std::size_t index = range_near(seq);
    return index < range_count_ && ranges_[index].first.value <= seq.value + 1;
}

// Erases the ranges from index `first` up to, not including, `last`.
void DeliveryLosses::erase_ranges(std::size_t first, std::size_t last) {
    for (std::size_t i = last; i < range_count_; ++i) {
        ranges_[first + i - last] = ranges_[i];
        reported_by_[first + i - last] = reported_by_[i];
    }
    range_count_ -= last - first;
}

void DeliveryLosses::add_to_ranges(Seq seq) {
    const std::size_t index = range_near(seq);
    if (index < range_count_ && ranges_[index].first.value <= seq.value + 1) {
        SeqRange& range = ranges_[index];
        range.first = seq < range.first ? seq : range.first;
        range.last = seq > range.last ? seq : range.last;
        reported_by_[index] = next_number_;
        if (index + 1 < range_count_ && ranges_[index + 1].first.value <= range.last.value + 1) {
            range.last = ranges_[index + 1].last > range.last ? ranges_[index + 1].last : range.last;
            erase_ranges(index + 1, index + 2);
        }
        return;
    }
    PERFLEET_ASSERT(range_count_ < ranges_.size());
    for (std::size_t i = range_count_; i > index; --i) {
        ranges_[i] = ranges_[i - 1];
        reported_by_[i] = reported_by_[i - 1];
    }
    ranges_[index] = SeqRange{seq, seq};
    reported_by_[index] = next_number_;
    ++range_count_;
}

bool DeliveryLosses::join_to_last_dropped(Seq seq) {
    std::size_t index = 0;
    while (index < range_count_ && ranges_[index].last < last_dropped_) {
        ++index;
    }
    if (last_dropped_.value == 0 || index == range_count_ || ranges_[index].first > last_dropped_ ||
        last_dropped_ >= seq) {
        return false;
    }
    for (const CountEntry& entry : since_drop_.entries()) {
        counts_.add(entry.series, CountName::kLostSpoolFull, entry.value);
    }
    since_drop_.clear();
    // Ranges of batches that were never in the spool may lie between.
    std::size_t end = index + 1;
    while (end < range_count_ && ranges_[end].first < seq) {
        ++end;
    }
    erase_ranges(index + 1, end);
    ranges_[index].last = Seq{seq.value - 1};
    return true;
}

void DeliveryLosses::count(CountName reason, EpochNumber epoch, std::span<const SealedRecord::Rows> rows) {
    for (const SealedRecord::Rows& part : rows) {
        counts_.add(part.series, reason, part.row_count);
        if (is_definition(part.series.kind) && (!has_lost_definitions_ || lost_definitions_epoch_ < epoch)) {
            has_lost_definitions_ = true;
            lost_definitions_epoch_ = epoch;
        }
    }
    is_news_ = true;
}

bool DeliveryLosses::drop_oldest(Seq seq, EpochNumber epoch, std::span<const SealedRecord::Rows> rows,
                                 CountName reason) {
    if (range_count_ == ranges_.size() && !has_neighbour(seq) && !join_to_last_dropped(seq)) {
        return false;
    }
    add_to_ranges(seq);
    count(reason, epoch, rows);
    last_dropped_ = seq;
    for (const CountEntry& entry : since_drop_.entries()) {
        acknowledged_.add(entry.series, entry.name, entry.value);
    }
    since_drop_.clear();
    return true;
}

bool DeliveryLosses::drop_newest(Seq seq, EpochNumber epoch, std::span<const SealedRecord::Rows> rows) {
    if (range_count_ == ranges_.size() && !has_neighbour(seq)) {
        return false;
    }
    add_to_ranges(seq);
    count(CountName::kLostSpoolFull, epoch, rows);
    return true;
}

void DeliveryLosses::count_acknowledged(std::span<const SealedRecord::Rows> rows) {
    for (const SealedRecord::Rows& part : rows) {
        since_drop_.add(part.series, CountName::kProduced, part.row_count);
    }
}

void DeliveryLosses::restore(const Left& left) {
    PERFLEET_ASSERT(range_count_ == 0 && left.ranges.size() <= ranges_.size());
    for (const SeqRange& range : left.ranges) {
        ranges_[range_count_] = range;
        reported_by_[range_count_] = ~0ULL;
        ++range_count_;
    }
    const auto take_over = [](std::span<const CountEntry> counts, CountTable& into) {
        for (const CountEntry& entry : counts) {
            into.add(entry.series, entry.name, entry.value);
        }
    };
    take_over(left.counts, counts_);
    take_over(left.acknowledged, acknowledged_);
    take_over(left.since_drop, since_drop_);
    last_dropped_ = left.last_dropped;
}

void DeliveryLosses::count_refused(EpochNumber epoch, std::span<const SealedRecord::Rows> rows) {
    count(CountName::kLostRefused, epoch, rows);
}

void DeliveryLosses::acknowledge(std::uint64_t report_number) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < range_count_; ++i) {
        if (reported_by_[i] > report_number) {
            ranges_[kept] = ranges_[i];
            reported_by_[kept] = reported_by_[i];
            ++kept;
        }
    }
    is_news_ = is_news_ || kept != range_count_;
    range_count_ = kept;
}

bool DeliveryLosses::report(SpscRing& losses) {
    if (!is_news_) {
        return false;
    }
    const auto ranges = this->ranges();
    const auto counts = this->counts();
    const auto record = losses.reserve(sizeof(LossReport) + ranges.size_bytes() + counts.size_bytes());
    if (record.empty()) {
        return false;
    }
    LossReport report;
    report.number = next_number_++;
    report.range_count = static_cast<std::uint32_t>(ranges.size());
    report.entry_count = static_cast<std::uint32_t>(counts.size());
    report.has_lost_definitions = has_lost_definitions_;
    report.lost_definitions_epoch = lost_definitions_epoch_;
    std::byte* at = record.data();
    std::memcpy(at, &report, sizeof report);
    at += sizeof report;
    if (!ranges.empty()) {
        std::memcpy(at, ranges.data(), ranges.size_bytes());
        at += ranges.size_bytes();
    }
    if (!counts.empty()) {
        std::memcpy(at, counts.data(), counts.size_bytes());
    }
    losses.commit(record.size());
    is_news_ = false;
    return true;
}

}  // namespace perfleet
