// Collects rows in columns and seals them into a Batch message: a single-segment Cap'n Proto message written without
// the library, as schemas/wire/collector.capnp defines it.
//
// Rows of kind sample are sealed by CPU, in order of arrival within a CPU: then every column except the stack consists
// of runs, or of steps of the sampling period. Nothing is sorted for it: a row goes into memory of its CPU at once, and
// of two orders of arrival that differ only between CPUs the sealed bytes are the same. Other kinds keep the order of
// arrival, because the meaning of their rows depends on it.
//
// Freestanding. Works in memory of the caller. Collects rows of several series at once: as many as there are tables
// (BatchBuilder: as many as a batch may hold).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/columns/encode_workspace.h"
#include "schemas/columns/seal.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/row_view.h"
#include "target-collector/message/capnp_writer.h"

namespace perfleet {

class BatchBuilderCore : NonCopyable {
private:
    struct Slot;

public:
    // Columns of a series for which tables have space, on average. A series with more uses the space of other series.
    static constexpr std::size_t kColumnsPerSeries = 16;
    // Rows for which a series takes memory at once, samples on each CPU; fewer if memory is scarce and series are many.
    static constexpr std::uint32_t kChunkRows = 32;

    // Memory for tables: one element of each span per series; of column_views kColumnsPerSeries per series.
    struct TableViews {
        std::span<Slot> slots;
        std::span<SeriesView> views;
        std::span<ColumnView> column_views;
        std::uint32_t chunk_rows = kChunkRows;
    };
    template <std::size_t kSeries>
    struct Tables;

    // `values` holds the integer columns of all rows until sealing, `bytes` the byte columns. The number of rows that
    // fit depends on their kinds: values_count() gives a sufficient size. Borrowed.
    BatchBuilderCore(std::span<std::uint64_t> values, std::span<std::byte> bytes, std::uint32_t row_count_max,
                     const TableViews& tables);

    // The highest number of any kind but detailed samples, of which fewer fit into a batch.
    static constexpr std::uint32_t kIntegerColumnsMax = [] {
        std::ptrdiff_t most = 0;
        for (const KindTraits& kind : kKindTable) {
            const auto count = std::count_if(kind.columns.begin(), kind.columns.end(), [](const ColumnRule& rule) {
                return rule.shape == ColumnShape::kInteger;
            });
            most = kind.kind == Kind::kDetailedSample ? most : std::max(most, count);
        }
        return static_cast<std::uint32_t>(most);
    }();
    // Number of values that suffice for `row_count_max` rows in total, with `column_count` integer columns, in
    // `series_count` series. A series of samples counts once for each CPU.
    [[nodiscard]] static constexpr std::size_t values_count(std::uint32_t row_count_max, std::uint32_t column_count,
                                                            std::uint32_t series_count,
                                                            std::uint32_t chunk_rows = kChunkRows) {
        return working_words(row_count_max) +
               (row_count_max / chunk_rows + series_count) * (kChunkHeaderWords + column_count * chunk_rows);
    }

    // Adds a row. False: no space, nothing was added; seal first.
    [[nodiscard]] bool append(const RowView& row);

    [[nodiscard]] std::uint32_t row_count() const { return row_count_; }  // of all series
    [[nodiscard]] std::size_t series_count_max() const { return slots_.size(); }
    [[nodiscard]] std::uint32_t row_count(Series series) const;

    // Visits (series, row_count) of the collected rows, in the order of each series' first row.
    template <class Visitor>
    void each_series(Visitor visitor) const {
        for (std::size_t i = 0; i < series_count_; ++i) {
            visitor(slots_[i].series, slots_[i].row_count);
        }
    }

    // Sets a lower limit than limits::kBatchSizeBytesMax for the sealed message: append() fails before a message with
    // up to `entry_count_max` counts would exceed it.
    void limit_sealed_size_bytes(std::size_t size_bytes_max, std::size_t entry_count_max);

    // Upper bound of the size that seal() needs now.
    [[nodiscard]] std::size_t sealed_size_bytes_max(std::size_t entry_count, std::size_t range_count,
                                                    std::size_t point_count) const;

    // Writes an Envelope with the Batch into `out` and returns its size in bytes (a multiple of 8). The rows remain
    // until clear(). Definitions (strings, images, stacks) come before the rows that use them, other series in the
    // order of their first row. `now` is the time of definitions. Faults: kFull, kTooLarge (above a limit of
    // vocabulary/batch_limits.h).
    [[nodiscard]] Checked<std::size_t> seal(const BatchHeader& header, Ticks now, std::span<const CountEntry> counts,
                                            std::span<const SeqRange> dropped, std::span<const ClockPoint> clock_points,
                                            std::span<std::byte> out);

    void clear();

private:
    // Rows are stored in chunks of `values_`. A chunk has rows of one series and, of samples, of one CPU. The chunks of
    // a series form a list in the order of sealing: by CPU, then by arrival. Column by column within a chunk:
    //   owner: slot index << 32 | CPU, 0 for kinds that keep the order of arrival
    //   number of rows << 32 | next chunk of the series
    //   chunk_rows_ offsets into bytes_ (only kinds with byte columns)
    //   chunk_rows_ values of each integer column
    static constexpr std::size_t kChunkHeaderWords = 2;
    static constexpr std::uint32_t kNoChunk = 0xffff'ffff;
    static constexpr std::uint32_t kNoSlot = 0xffff'ffff;
    static constexpr std::size_t kRecentSlots = 16;
    static constexpr std::size_t kRecentChunks = 256;  // by CPU
    static constexpr std::size_t kByteColumnsMax = 5;

    // One column, gathered; what encoding needs.
    [[nodiscard]] static constexpr std::size_t working_words(std::uint32_t row_count_max) {
        return row_count_max + encode_workspace_words(row_count_max);
    }

    struct Slot {
        Series series;
        std::uint32_t row_count = 0;
        std::uint32_t integer_column_count = 0;
        std::uint32_t byte_column_count = 0;
        std::array<std::uint32_t, kByteColumnsMax>
            size_columns{};                    // of each byte column: index among the integer columns
        std::uint32_t first_chunk = kNoChunk;  // offset into values_
        std::uint64_t byte_size_bytes = 0;     // of all byte columns
        std::uint64_t first_ticks = ~0ULL;
        std::uint64_t last_ticks = 0;
    };

    [[nodiscard]] std::uint32_t slot_of(Series series) const;
    // Adds to the size of the sealed message; false: above the limit, nothing was added.
    [[nodiscard]] bool charge(std::size_t size_bytes);
    // These return a chunk with space for one more row of the series and CPU; kNoChunk, without changes, if there is
    // none.
    [[nodiscard]] std::uint32_t make_room(Series series, std::uint32_t cpu, std::size_t integers_size_bytes,
                                          std::size_t bytes_size_bytes);
    [[nodiscard]] std::uint32_t add_slot(Series series, std::uint32_t cpu);
    [[nodiscard]] std::uint32_t chunk_in(std::uint32_t slot_index, std::uint32_t cpu);
    // Puts it after another one into the slot's list; first if that is kNoChunk.
    [[nodiscard]] std::uint32_t add_chunk(std::uint64_t owner, std::uint32_t after);
    [[nodiscard]] std::uint32_t slot_index_of(std::uint32_t chunk) const {
        return static_cast<std::uint32_t>(values_[chunk] >> 32);
    }
    [[nodiscard]] std::uint32_t row_count_of(std::uint32_t chunk) const {
        return static_cast<std::uint32_t>(values_[chunk + 1] >> 32);
    }
    [[nodiscard]] std::uint32_t next_of(std::uint32_t chunk) const {
        return static_cast<std::uint32_t>(values_[chunk + 1]);
    }
    void gather_integers(const Slot& slot, std::uint32_t column, std::span<std::uint64_t> out) const;
    void gather_bytes(const Slot& slot, std::uint32_t byte_column, std::span<std::byte> out) const;
    [[nodiscard]] Checked<Done> write_series(CapnpWriter& writer, CapnpWriter::StructPlace place, const Slot& slot,
                                             Ticks now, SeriesView& view);

    std::span<std::uint64_t> values_;   // chunks
    std::span<std::uint64_t> scratch_;  // one column, gathered
    std::span<std::uint64_t> workspace_;
    std::span<std::byte> bytes_;
    std::uint32_t row_count_max_;
    std::uint32_t chunk_rows_;
    std::uint32_t row_count_ = 0;
    std::uint32_t series_count_ = 0;
    std::size_t used_values_ = 0;
    std::size_t used_bytes_ = 0;
    std::size_t series_size_bytes_max_ = 0;  // upper bound of the series' part of the message
    std::size_t sealed_size_bytes_limit_ = limits::kBatchSizeBytesMax;
    std::size_t entry_count_max_ = limits::kCountsMax;
    mutable std::array<std::uint32_t, kRecentSlots> recent_{};
    std::array<std::uint32_t, kRecentChunks> recent_chunks_{};  // the last one of an owner, or kNoChunk
    std::span<Slot> slots_;
    std::span<SeriesView> views_;  // while sealing
    std::span<ColumnView> column_views_;
    std::size_t column_view_count_ = 0;  // until sealing: of all series
};

template <std::size_t kSeries>
struct BatchBuilderCore::Tables {
    static_assert(kSeries <= limits::kBatchSeriesMax);
    std::array<Slot, kSeries> slots{};
    std::array<SeriesView, kSeries> views{};
    std::array<ColumnView, kSeries * kColumnsPerSeries> column_views{};

    [[nodiscard]] TableViews all(std::uint32_t chunk_rows = kChunkRows) {
        return {slots, views, column_views, chunk_rows};
    }
};

class BatchBuilder final : private BatchBuilderCore::Tables<limits::kBatchSeriesMax>, public BatchBuilderCore {
public:
    BatchBuilder(std::span<std::uint64_t> values, std::span<std::byte> bytes, std::uint32_t row_count_max)
        : BatchBuilderCore{values, bytes, row_count_max, all()} {}
};

}  // namespace perfleet
