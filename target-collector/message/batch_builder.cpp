#include "target-collector/message/batch_builder.h"

#include <algorithm>
#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "schemas/wire/protocol.h"
#include "target-collector/message/capnp_format.h"
#include "target-collector/message/message_parts.h"

namespace perfleet {

using namespace capnp_format;

namespace {

// Segment table, root pointer, and the structs and list tags of every batch.
constexpr std::size_t kFixedSizeBytes = 2 * kWordBytes + size_bytes_of(wire_layout::envelope::kShape) +
                                        size_bytes_of(wire_layout::batch::kShape) +
                                        size_bytes_of(wire_layout::session_id::kShape) + 4 * kWordBytes;

constexpr std::size_t tail_size_bytes(std::size_t entry_count, std::size_t range_count, std::size_t point_count) {
    return entry_count * size_bytes_of(wire_layout::count_entry::kShape) +
           range_count * size_bytes_of(wire_layout::seq_range::kShape) +
           point_count * size_bytes_of(wire_layout::clock_point::kShape);
}

constexpr std::size_t tail_size_bytes_max(std::size_t entry_count_max) {
    return tail_size_bytes(entry_count_max, limits::kDroppedRangesMax, limits::kClockPointsMax);
}

// Most bytes that encode_integers needs beyond 8 per value, and the padding to a word.
constexpr std::size_t kColumnOverheadBytes = encoded_size_bytes_max(0) + kWordBytes - 1;
constexpr std::size_t kChunkOverheadBytes = encoded_size_bytes_max(1) - encoded_size_bytes_max(0) - 8;

// Index of `id` among the integer columns of `kind`.
std::uint32_t integer_index_of(Kind kind, ColumnId id) {
    std::uint32_t index = 0;
    for (const ColumnRule& rule : columns_of(kind)) {
        if (rule.id == id) {
            return index;
        }
        index += rule.shape == ColumnShape::kInteger ? 1 : 0;
    }
    PERFLEET_ASSERT(false);
}

// append() finds the CPU of a sample without a search.
static_assert(std::all_of(kKindTable.begin(), kKindTable.end(), [](const KindTraits& kind) {
    return !kind.is_sampled || (kind.columns[0].id == ColumnId::kTime && kind.columns[1].id == ColumnId::kCpu);
}));

std::size_t recent_index(Series series, std::size_t entry_count) {
    return (static_cast<std::size_t>(series.kind) + std::size_t{series.event.value} * 3) & (entry_count - 1);
}

}  // namespace

BatchBuilderCore::BatchBuilderCore(std::span<std::uint64_t> values, std::span<std::byte> bytes,
                                   std::uint32_t row_count_max, const TableViews& tables)
    : bytes_{bytes},
      row_count_max_{row_count_max},
      chunk_rows_{tables.chunk_rows},
      slots_{tables.slots},
      views_{tables.views},
      column_views_{tables.column_views} {
    PERFLEET_ASSERT(views_.size() == slots_.size() && column_views_.size() == slots_.size() * kColumnsPerSeries);
    PERFLEET_ASSERT(row_count_max > 0 && row_count_max <= limits::kBatchRowsMax);
    PERFLEET_ASSERT(values.size() > working_words(row_count_max) && values.size() < kNoChunk);
    values_ = values.first(values.size() - working_words(row_count_max));
    scratch_ = values.subspan(values_.size(), row_count_max);
    workspace_ = values.last(encode_workspace_words(row_count_max));
    recent_.fill(0);
    recent_chunks_.fill(kNoChunk);
}

std::uint32_t BatchBuilderCore::slot_of(Series series) const {
    std::uint32_t& recent = recent_[recent_index(series, kRecentSlots)];
    if (recent < series_count_ && slots_[recent].series == series) {
        return recent;
    }
    for (std::uint32_t i = 0; i < series_count_; ++i) {
        if (slots_[i].series == series) {
            recent = i;
            return i;
        }
    }
    return kNoSlot;
}

bool BatchBuilderCore::charge(std::size_t size_bytes) {
    if (kFixedSizeBytes + tail_size_bytes_max(entry_count_max_) + series_size_bytes_max_ + size_bytes >
        sealed_size_bytes_limit_) {
        return false;
    }
    series_size_bytes_max_ += size_bytes;
    return true;
}

std::uint32_t BatchBuilderCore::add_slot(Series series, std::uint32_t cpu) {
    const std::size_t column_count = columns_of(series.kind).size();
    if (series_count_ == slots_.size() || column_count > column_views_.size() - column_view_count_) {
        return kNoChunk;
    }
    Slot& slot = slots_[series_count_];
    slot = Slot{};
    slot.series = series;
    for (const ColumnRule& rule : columns_of(series.kind)) {
        if (rule.shape == ColumnShape::kInteger) {
            ++slot.integer_column_count;
        } else {
            PERFLEET_ASSERT(slot.byte_column_count < kByteColumnsMax);
            slot.size_columns[slot.byte_column_count++] = integer_index_of(series.kind, rule.sizes);
        }
    }
    PERFLEET_ASSERT(slot.integer_column_count > 0);
    if (!charge(size_bytes_of(wire_layout::series_rows::kShape) + kWordBytes +
                column_count * (size_bytes_of(wire_layout::column::kShape) + kColumnOverheadBytes))) {
        return kNoChunk;
    }
    const std::uint32_t chunk = chunk_in(series_count_, cpu);
    if (chunk != kNoChunk) {
        ++series_count_;
        column_view_count_ += column_count;
    }
    return chunk;
}

std::uint32_t BatchBuilderCore::chunk_in(std::uint32_t slot_index, std::uint32_t cpu) {
    const std::uint64_t owner = std::uint64_t{slot_index} << 32 | cpu;
    std::uint32_t& recent = recent_chunks_[(slot_index * 31 + cpu) % kRecentChunks];
    std::uint32_t last = recent;
    if (last == kNoChunk || values_[last] != owner) {
        last = kNoChunk;
        for (std::uint32_t chunk = slots_[slot_index].first_chunk; chunk != kNoChunk && values_[chunk] <= owner;
             chunk = next_of(chunk)) {
            last = chunk;
        }
    }
    if (last == kNoChunk || values_[last] != owner || row_count_of(last) == chunk_rows_) {
        last = add_chunk(owner, last);
    }
    recent = last;
    return last;
}

std::uint32_t BatchBuilderCore::add_chunk(std::uint64_t owner, std::uint32_t after) {
    Slot& slot = slots_[owner >> 32];
    const std::size_t value_count =
        kChunkHeaderWords +
        chunk_rows_ * (slot.integer_column_count + (slot.byte_column_count > 0 ? std::size_t{1} : 0));
    if (value_count > values_.size() - used_values_ || !charge(slot.integer_column_count * kChunkOverheadBytes)) {
        return kNoChunk;
    }
    const auto chunk = static_cast<std::uint32_t>(used_values_);
    used_values_ += value_count;
    values_[chunk] = owner;
    if (after == kNoChunk) {
        values_[chunk + 1] = slot.first_chunk;
        slot.first_chunk = chunk;
    } else {
        values_[chunk + 1] = next_of(after);
        values_[after + 1] = std::uint64_t{row_count_of(after)} << 32 | chunk;
    }
    return chunk;
}

std::uint32_t BatchBuilderCore::make_room(Series series, std::uint32_t cpu, std::size_t integers_size_bytes,
                                          std::size_t bytes_size_bytes) {
    if (row_count_ == row_count_max_ || bytes_size_bytes > bytes_.size() - used_bytes_ ||
        bytes_size_bytes > limits::kSeriesBytesMax) {
        return kNoChunk;
    }
    const std::size_t charged_before = series_size_bytes_max_;
    std::uint32_t chunk = kNoChunk;
    if (charge(integers_size_bytes + bytes_size_bytes)) {
        const std::uint32_t index = slot_of(series);
        if (index == kNoSlot) {
            chunk = add_slot(series, cpu);
        } else if (slots_[index].byte_size_bytes + bytes_size_bytes <= limits::kSeriesBytesMax) {
            chunk = chunk_in(index, cpu);
        }
    }
    if (chunk == kNoChunk) {
        series_size_bytes_max_ = charged_before;
    }
    return chunk;
}

bool BatchBuilderCore::append(const RowView& row) {
    const std::size_t time_columns = has_time(row.series.kind) ? 1 : 0;
    std::size_t bytes_size_bytes = 0;
    for (const auto& part : row.bytes) {
        bytes_size_bytes += part.size();
    }
    const std::uint64_t cpu = traits_of(row.series.kind).is_sampled ? row.integers.front() : 0;
    const std::uint32_t chunk = make_room(row.series, static_cast<std::uint32_t>(cpu),
                                          time_columns * sizeof(Ticks) + row.integers.size_bytes(), bytes_size_bytes);
    if (chunk == kNoChunk) {
        return false;
    }
    Slot* const slot = &slots_[slot_index_of(chunk)];
    PERFLEET_ASSERT(time_columns + row.integers.size() == slot->integer_column_count &&
                    row.bytes.size() == slot->byte_column_count);
    std::uint64_t* at = &values_[chunk + kChunkHeaderWords + row_count_of(chunk)];
    if (slot->byte_column_count > 0) {
        *at = used_bytes_;
        at += chunk_rows_;
        for (std::uint32_t i = 0; i < slot->byte_column_count; ++i) {
            const std::span<const std::byte> part = row.bytes[i];
            PERFLEET_ASSERT(row.integers[slot->size_columns[i] - time_columns] == part.size());
            if (!part.empty()) {
                std::memcpy(bytes_.data() + used_bytes_, part.data(), part.size());
                used_bytes_ += part.size();
            }
        }
        slot->byte_size_bytes += bytes_size_bytes;
    }
    if (time_columns > 0) {
        *at = row.time.value;
        at += chunk_rows_;
        slot->first_ticks = row.time.value < slot->first_ticks ? row.time.value : slot->first_ticks;
        slot->last_ticks = row.time.value > slot->last_ticks ? row.time.value : slot->last_ticks;
    }
    for (const std::uint64_t value : row.integers) {
        *at = value;
        at += chunk_rows_;
    }
    values_[chunk + 1] += std::uint64_t{1} << 32;
    ++slot->row_count;
    ++row_count_;
    return true;
}

std::uint32_t BatchBuilderCore::row_count(Series series) const {
    const std::uint32_t index = slot_of(series);
    return index == kNoSlot ? 0 : slots_[index].row_count;
}

void BatchBuilderCore::limit_sealed_size_bytes(std::size_t size_bytes_max, std::size_t entry_count_max) {
    entry_count_max_ = entry_count_max < limits::kCountsMax ? entry_count_max : limits::kCountsMax;
    sealed_size_bytes_limit_ =
        size_bytes_max < limits::kBatchSizeBytesMax ? size_bytes_max : limits::kBatchSizeBytesMax;
}

std::size_t BatchBuilderCore::sealed_size_bytes_max(std::size_t entry_count, std::size_t range_count,
                                                    std::size_t point_count) const {
    return kFixedSizeBytes + series_size_bytes_max_ + tail_size_bytes(entry_count, range_count, point_count);
}

void BatchBuilderCore::gather_integers(const Slot& slot, std::uint32_t column, std::span<std::uint64_t> out) const {
    const std::size_t before =
        kChunkHeaderWords + chunk_rows_ * (std::size_t{column} + (slot.byte_column_count > 0 ? 1 : 0));
    std::size_t done = 0;
    for (std::uint32_t chunk = slot.first_chunk; chunk != kNoChunk; chunk = next_of(chunk)) {
        const std::size_t count = row_count_of(chunk);
        PERFLEET_ASSERT(count <= out.size() - done);
        std::memcpy(out.data() + done, &values_[chunk + before], count * sizeof(std::uint64_t));
        done += count;
    }
    PERFLEET_ASSERT(done == out.size());
}

void BatchBuilderCore::gather_bytes(const Slot& slot, std::uint32_t byte_column, std::span<std::byte> out) const {
    // The byte columns of a row are stored one after the other, from its offset on.
    std::size_t done = 0;
    for (std::uint32_t chunk = slot.first_chunk; chunk != kNoChunk; chunk = next_of(chunk)) {
        const std::uint32_t count = row_count_of(chunk);
        for (std::uint32_t row = 0; row < count; ++row) {
            const std::uint64_t* const offsets = &values_[chunk + kChunkHeaderWords + row];
            const auto size_at = [&](std::uint32_t part) {
                return offsets[chunk_rows_ * (std::size_t{1} + slot.size_columns[part])];
            };
            std::uint64_t from = *offsets;
            for (std::uint32_t part = 0; part < byte_column; ++part) {
                from += size_at(part);
            }
            const std::uint64_t size = size_at(byte_column);
            PERFLEET_ASSERT(size <= out.size() - done);
            if (size > 0) {
                std::memcpy(out.data() + done, bytes_.data() + from, size);
            }
            done += size;
        }
    }
    PERFLEET_ASSERT(done == out.size());
}

Checked<Done> BatchBuilderCore::write_series(CapnpWriter& writer, CapnpWriter::StructPlace place, const Slot& slot,
                                             Ticks now, SeriesView& view) {
    namespace rows = wire_layout::series_rows;
    view.series = slot.series;
    view.row_count = slot.row_count;
    view.first_ticks = has_time(slot.series.kind) ? Ticks{slot.first_ticks} : now;
    view.last_ticks = has_time(slot.series.kind) ? Ticks{slot.last_ticks} : now;
    writer.set(place, rows::kKind, static_cast<std::uint8_t>(slot.series.kind));
    writer.set(place, rows::kEvent, slot.series.event.value);
    writer.set(place, rows::kRowCount, slot.row_count);
    writer.set(place, rows::kFirstTicks, view.first_ticks.value);
    writer.set(place, rows::kLastTicks, view.last_ticks.value);

    const auto rules = columns_of(slot.series.kind);
    const auto columns = writer.make_list(place, rows::kColumns, wire_layout::column::kShape, rules.size());
    const std::size_t first_view = column_view_count_;
    std::uint32_t integer_column = 0;
    std::uint32_t byte_column = 0;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        Encoded encoded{Codec::kBytes, 0};
        std::span<std::byte> room;
        if (rules[i].shape == ColumnShape::kInteger) {
            const auto values = scratch_.first(slot.row_count);
            gather_integers(slot, integer_column++, values);
            room = writer.begin_data(encoded_size_bytes_max(values.size()));
            encoded = PERFLEET_TRY(encode_integers(values, room, workspace_));
        } else {
            std::size_t size_bytes = 0;
            const auto sizes = scratch_.first(slot.row_count);
            gather_integers(slot, slot.size_columns[byte_column], sizes);
            for (const std::uint64_t size : sizes) {
                size_bytes += size;
            }
            room = writer.begin_data(size_bytes);
            if (room.size() != size_bytes) {
                return Fault{ErrorCode::kFull, i, size_bytes};
            }
            gather_bytes(slot, byte_column++, room);
            encoded.size_bytes = size_bytes;
        }
        const auto column = CapnpWriter::element(columns, i);
        writer.end_data(column, wire_layout::column::kBytes, encoded.size_bytes);
        writer.set(column, wire_layout::column::kId, static_cast<std::uint16_t>(rules[i].id));
        writer.set(column, wire_layout::column::kCodec, static_cast<std::uint8_t>(encoded.codec));
        column_views_[column_view_count_++] =
            ColumnView{rules[i].id, encoded.codec, std::span<const std::byte>{room}.first(encoded.size_bytes)};
    }
    view.columns = std::span<const ColumnView>{column_views_}.subspan(first_view, rules.size());
    return Done{};
}

Checked<std::size_t> BatchBuilderCore::seal(const BatchHeader& header, Ticks now, std::span<const CountEntry> counts,
                                            std::span<const SeqRange> dropped, std::span<const ClockPoint> clock_points,
                                            std::span<std::byte> out) {
    namespace layout = wire_layout::batch;
    if (counts.size() > limits::kCountsMax || dropped.size() > limits::kDroppedRangesMax ||
        clock_points.size() > limits::kClockPointsMax) {
        return Fault{ErrorCode::kTooLarge, counts.size(), dropped.size()};
    }
    CapnpWriter writer{out};
    const auto envelope = writer.make_root(wire_layout::envelope::kShape);
    const auto batch = begin_message(writer, envelope, wire_layout::MessageTag::kBatch, layout::kShape);
    write_session(writer, batch, layout::kSession, header.session);
    writer.set(batch, layout::kSeq, header.seq.value);
    writer.set(batch, layout::kEpoch, header.epoch.value);
    writer.set(batch, layout::kBucket, header.bucket.value);

    const auto series = writer.make_list(batch, layout::kSeries, wire_layout::series_rows::kShape, series_count_);
    column_view_count_ = 0;
    std::size_t written = 0;
    const auto write_all_of = [&](auto is_wanted) -> Checked<Done> {
        for (std::size_t i = 0; i < series_count_; ++i) {
            if (is_wanted(slots_[i].series.kind)) {
                const auto done =
                    write_series(writer, CapnpWriter::element(series, written), slots_[i], now, views_[written]);
                if (!done.ok()) {
                    return done.error();
                }
                ++written;
            }
        }
        return Done{};
    };
    for (const Kind definition : kDefinitions) {
        if (const auto done = write_all_of([&](Kind kind) { return kind == definition; }); !done.ok()) {
            return done.error();
        }
    }
    if (const auto done = write_all_of([](Kind kind) { return !is_definition(kind); }); !done.ok()) {
        return done.error();
    }
    PERFLEET_ASSERT(written == series_count_);

    write_counts(writer, batch, layout::kCounts, counts);
    write_ranges(writer, batch, layout::kDropped, dropped);
    const auto points =
        writer.make_list(batch, layout::kClockPoints, wire_layout::clock_point::kShape, clock_points.size());
    for (std::size_t i = 0; i < clock_points.size(); ++i) {
        write_clock_point(writer, CapnpWriter::element(points, i), clock_points[i]);
    }
    const auto views = std::span<const SeriesView>{views_}.first(written);
    writer.set(batch, layout::kSeal, seal_of(header, views, counts, dropped, clock_points));
    const auto size = writer.finish();
    if (size.ok() && *size > limits::kBatchSizeBytesMax) {
        return Fault{ErrorCode::kTooLarge, *size, limits::kBatchSizeBytesMax};
    }
    return size.ok() ? Checked<std::size_t>{*size} : Checked<std::size_t>{size.error()};
}

void BatchBuilderCore::clear() {
    row_count_ = 0;
    series_count_ = 0;
    used_values_ = 0;
    recent_chunks_.fill(kNoChunk);
    used_bytes_ = 0;
    column_view_count_ = 0;
    series_size_bytes_max_ = 0;
}

}  // namespace perfleet
