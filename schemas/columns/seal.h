// The seal of a batch: a checksum over its identity and everything that makes up its rows. Two batches with the same
// key and the same seal are the same batch; the same key with another seal is a conflict.
//
// Freestanding. What goes in, each integer little-endian at its own width, in this order:
//   session high, low (u64) · seq (u64) · epoch (u32) · bucket (u32)
//   for each series: kind (u8) · event (u16) · row_count (u32) · first_ticks, last_ticks (u64) · column count (u16)
//     for each column: id (u16) · codec (u8) · size (u32) · the bytes
//   for each entry: kind (u8) · event (u16) · name (u16) · value (u64)
//   for each dropped range: first, last (u64)
//   for each clock point: ticks (u64) · utc_ns (i64) · uncertainty_ns (u64)
// Excludes oldest_retained_seq, which changes with each transmission: schemas/wire/checksum.h covers it.
#pragma once

#include <cstdint>
#include <span>

#include "schemas/columns/codec.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// One encoded column. Borrowed bytes.
struct ColumnView {
    ColumnId id{};
    Codec codec{};
    std::span<const std::byte> bytes;
};

// The encoded rows of one series in one batch. Borrowed.
struct SeriesView {
    Series series;
    std::uint32_t row_count = 0;
    Ticks first_ticks;  // smallest and greatest kTime of the rows; definitions: both the time of sealing
    Ticks last_ticks;
    std::span<const ColumnView> columns;
};

// Batches first..last (both included) that the collector dropped and will never send.
struct SeqRange {
    Seq first;
    Seq last;

    friend constexpr auto operator<=>(const SeqRange&, const SeqRange&) = default;
};

struct BatchHeader {
    SessionId session;
    Seq seq;
    EpochNumber epoch;
    BucketNumber bucket;
};

[[nodiscard]] std::uint32_t seal_of(const BatchHeader& header, std::span<const SeriesView> series,
                                    std::span<const CountEntry> counts, std::span<const SeqRange> dropped,
                                    std::span<const ClockPoint> clock_points);

}  // namespace perfleet
