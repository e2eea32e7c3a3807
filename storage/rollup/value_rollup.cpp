#include "storage/rollup/value_rollup.h"

#include <utility>

#include "storage/model/rollup_cover.h"
#include "storage/number/rank_sketch.h"
#include "storage/store_limits.h"

namespace perfleet {
namespace {

void write_moments(RecordWriter& writer, const Moments& moments) {
    const Moments::Parts parts = moments.parts();
    writer.varint(parts.min);
    writer.varint(parts.max - parts.min);
    writer.varint(static_cast<std::uint64_t>(parts.sum));
    writer.varint(static_cast<std::uint64_t>(parts.sum >> 64));
    for (const std::uint64_t limb : parts.sum_of_squares.limbs()) {
        writer.varint(limb);
    }
}

class ValueCells {
public:
    ValueCells(RecordReader& reader, ValueRollup& rollup) : reader_{reader}, rollup_{rollup} {}

    void read() {
        const std::uint64_t cell_count = reader_.varint(limits::kRollupCellsMax);
        std::uint64_t row_count = 0;
        for (std::uint64_t i = 0; i < cell_count && !reader_.has_failed(); ++i) {
            row_count = sum_of(reader_, row_count, read_cell());
        }
        if (row_count != rollup_.row_count) {
            reader_.fail(ErrorCode::kInvalid, "its sums aren't those of its rows");
        }
    }

private:
    // Gives its rows.
    [[nodiscard]] std::uint64_t read_cell() {
        ValueRollup::Cell cell;
        cell.bounds = read_bounds(reader_, rollup_.cells.empty() ? nullptr : &rollup_.cells.back().bounds);
        cell.first_ticks = Ticks{sum_of(reader_, cell.bounds.from.value, reader_.varint())};
        cell.last_ticks = Ticks{sum_of(reader_, cell.first_ticks.value, reader_.varint())};
        Moments::Parts parts;
        parts.min = reader_.varint();
        parts.max = sum_of(reader_, parts.min, reader_.varint());
        const std::uint64_t low = reader_.varint();
        parts.sum = Uint128{reader_.varint()} << 64 | low;
        Uint256::Limbs limbs{};
        for (std::uint64_t& limb : limbs) {
            limb = reader_.varint();
        }
        parts.sum_of_squares = Uint256::of(limbs);
        const std::size_t first = rollup_.buckets.size();
        parts.count = read_buckets();
        const auto moments = Moments::of(parts);
        if (reader_.has_failed() || !moments || cell.last_ticks >= cell.bounds.until ||
            rollup_.buckets[first].number != RankSketch::bucket_of(parts.min) ||
            rollup_.buckets.back().number != RankSketch::bucket_of(parts.max)) {
            reader_.fail(ErrorCode::kInvalid, "a cell with rows outside of it, or moments of other values");
            return 0;
        }
        cell.moments = *moments;
        cell.buckets_end = static_cast<std::uint32_t>(rollup_.buckets.size());
        rollup_.cells.push_back(cell);
        return parts.count;
    }

    [[nodiscard]] std::uint64_t read_buckets() {
        const std::uint64_t bucket_count = reader_.varint(limits::kRollupSizeBytesMax);
        std::uint64_t row_count = 0;
        std::uint64_t next = 0;
        for (std::uint64_t i = 0; i < bucket_count && !reader_.has_failed(); ++i) {
            const std::uint64_t number = sum_of(reader_, next, reader_.varint());
            const std::uint64_t rows = reader_.varint();
            if (!RankSketch::is_bucket(number) || rows == 0) {
                reader_.fail(ErrorCode::kInvalid, "a bucket without rows, or of no value");
                return 0;
            }
            rollup_.buckets.push_back({static_cast<std::uint32_t>(number), rows});
            row_count = sum_of(reader_, row_count, rows);
            next = number + 1;
        }
        return row_count;
    }

    RecordReader& reader_;
    ValueRollup& rollup_;
};

}  // namespace

std::string encode_rollup(const ValueRollup& rollup) {
    RecordWriter writer;
    write_cover(writer, rollup.epoch, rollup.row_count, rollup.seqs);
    writer.varint(rollup.cells.size());
    Ticks before{0};
    std::uint32_t bucket = 0;
    for (const ValueRollup::Cell& cell : rollup.cells) {
        write_bounds(writer, cell.bounds, before);
        before = cell.bounds.until;
        writer.varint(cell.first_ticks.value - cell.bounds.from.value);
        writer.varint(cell.last_ticks.value - cell.first_ticks.value);
        write_moments(writer, cell.moments);
        writer.varint(cell.buckets_end - bucket);
        std::uint32_t next = 0;
        for (; bucket < cell.buckets_end; ++bucket) {
            const ValueRollup::Bucket& one = rollup.buckets[bucket];
            writer.varint(one.number - next);
            writer.varint(one.row_count);
            next = one.number + 1;
        }
    }
    return writer.finish();
}

Result<RollupCover> decode_value_rollup_cover_untrusted(std::string_view bytes_untrusted) {
    RecordReader reader{bytes_untrusted, "rollup of values"};
    RollupCover cover = read_cover(reader);
    if (reader.has_failed()) {
        return reader.end().error();
    }
    return cover;
}

Result<ValueRollup> decode_value_rollup_untrusted(std::string_view bytes_untrusted) {
    if (bytes_untrusted.size() > 2 * limits::kRollupSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "rollup of values: " + std::to_string(bytes_untrusted.size()) + " bytes"};
    }
    RecordReader reader{bytes_untrusted, "rollup of values"};
    RollupCover cover = read_cover(reader);
    ValueRollup rollup;
    rollup.epoch = cover.epoch;
    rollup.row_count = cover.row_count;
    rollup.seqs = std::move(cover.seqs);
    ValueCells{reader, rollup}.read();
    PERFLEET_TRY(reader.end());
    return rollup;
}

}  // namespace perfleet
