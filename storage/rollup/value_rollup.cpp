#include "storage/rollup/value_rollup.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "storage/number/rank_sketch.h"
#include "storage/store_limits.h"

namespace perfleet {
namespace {

// Moments as integers of 64 bits, least first; how many values there are say the buckets.
struct StoredMoments {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
    std::array<std::uint64_t, 2> sum{};
    Uint256::Limbs sum_of_squares{};

    StoredMoments() = default;
    explicit StoredMoments(const Moments::Parts& parts)
        : min{parts.min},
          max{parts.max},
          sum{static_cast<std::uint64_t>(parts.sum), static_cast<std::uint64_t>(parts.sum >> 64)},
          sum_of_squares{parts.sum_of_squares.limbs()} {}

    [[nodiscard]] std::optional<Moments> moments(std::uint64_t count) const {
        return Moments::of({count, min, max, Uint128{sum[1]} << 64 | sum[0], Uint256::of(sum_of_squares)});
    }
};

// A RecordWriter or a RecordReader.
template <class Io, class Table, class AllMoments>
void columns(Io& io, Table& rollup, AllMoments& moments) {
    io.rows(rollup.cells, limits::kRollupCellsMax);
    bounds_columns(io, rollup.cells);
    io.column(rollup.cells, [](auto& cell) { return &cell.first_ticks.value; });
    io.column(
        rollup.cells, [](auto& cell) { return &cell.last_ticks.value; },
        [](auto& cell) { return cell.first_ticks.value; });
    io.column(rollup.cells, [](auto& cell) { return &cell.buckets_end; });
    moments.resize(rollup.cells.size());
    io.column(moments, [](auto& one) { return &one.min; });
    io.column(
        moments, [](auto& one) { return &one.max; }, [](auto& one) { return one.min; });
    for (std::size_t i = 0; i < 2; ++i) {
        io.column(moments, [i](auto& one) { return &one.sum[i]; });
    }
    for (std::size_t i = 0; i < 4; ++i) {
        io.column(moments, [i](auto& one) { return &one.sum_of_squares[i]; });
    }
    io.rows(rollup.buckets, std::min<std::uint64_t>(limits::kRollupTableRowsMax, rollup.row_count));
    io.column(rollup.buckets, [](auto& bucket) { return &bucket.number; });
    io.column(rollup.buckets, [](auto& bucket) { return &bucket.row_count; });
}

// Gives the rows of buckets that ascend, at least one; 0 where they don't.
std::uint64_t rows_in(std::span<const ValueRollup::Bucket> buckets) {
    std::uint64_t row_count = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        const std::uint64_t before = row_count;
        row_count += buckets[i].row_count;
        if (row_count <= before || !RankSketch::is_bucket(buckets[i].number) ||
            (i > 0 && buckets[i].number <= buckets[i - 1].number)) {
            return 0;
        }
    }
    return row_count;
}

// Gives the cells their moments.
void check(RecordReader& reader, std::span<const StoredMoments> moments, ValueRollup& rollup) {
    std::uint64_t row_count = 0;
    std::size_t begin = 0;
    const CellBounds* before = nullptr;
    for (std::size_t i = 0; i < rollup.cells.size() && !reader.has_failed(); ++i) {
        ValueRollup::Cell& cell = rollup.cells[i];
        check_cell(reader, std::exchange(before, &cell), cell);
        const std::size_t end = cell.buckets_end;
        const bool has_buckets = begin < end && end <= rollup.buckets.size();
        const auto buckets = std::span{rollup.buckets}.subspan(has_buckets ? begin : 0, has_buckets ? end - begin : 0);
        const std::uint64_t cell_row_count = rows_in(buckets);
        const auto of_cell = moments[i].moments(cell_row_count);
        if (cell_row_count == 0 || !of_cell || cell.first_ticks < cell.from || cell.last_ticks >= cell.until ||
            buckets.front().number != RankSketch::bucket_of(moments[i].min) ||
            buckets.back().number != RankSketch::bucket_of(moments[i].max)) {
            reader.fail(ErrorCode::kInvalid, "a cell with rows outside of it, buckets out of order, or other moments");
            return;
        }
        cell.moments = *of_cell;
        row_count = reader.sum_of(row_count, cell_row_count);
        begin = end;
    }
    if (begin != rollup.buckets.size() || row_count != rollup.row_count) {
        reader.fail(ErrorCode::kInvalid, "its sums aren't those of its rows");
    }
}

}  // namespace

std::string encode_rollup(const ValueRollup& rollup) {
    std::vector<StoredMoments> moments;
    for (const ValueRollup::Cell& cell : rollup.cells) {
        moments.emplace_back(cell.moments.parts());
    }
    RecordWriter writer;
    write_cover(writer, rollup.epoch, rollup.row_count, rollup.seqs);
    columns(writer, rollup, moments);
    return writer.finish();
}

Result<ValueRollup> decode_value_rollup_untrusted(std::string_view bytes_untrusted) {
    RecordReader reader{bytes_untrusted, "rollup of values"};
    RollupCover cover = read_cover(reader);
    ValueRollup rollup;
    rollup.epoch = cover.epoch;
    rollup.row_count = cover.row_count;
    rollup.seqs = std::move(cover.seqs);
    std::vector<StoredMoments> moments;
    columns(reader, rollup, moments);
    check(reader, moments, rollup);
    PERFLEET_TRY(reader.end());
    return rollup;
}

}  // namespace perfleet
