// The records of rollups: how all of them begin, whatever they sum. Byte layout: storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "storage/rollup/cells.h"
#include "storage/store/record_bytes.h"

namespace perfleet {

// Rows with one call chain.
struct StackSum {
    StackNumber stack;
    std::uint64_t row_count = 0;  // at least 1
    std::uint64_t weight = 0;     // of all rows, modulo 2^64

    friend bool operator==(const StackSum&, const StackSum&) = default;
};

// What a rollup covers: of the epoch's batches those with rows of the series that are all in these seqs.
struct RollupCover {
    EpochNumber epoch;
    std::uint64_t row_count = 0;
    std::vector<SeqRange> seqs;  // ascending

    // Greater than all before. `is_next`: no batch that isn't covered lies between this one and the last.
    void add_seq(Seq seq, bool is_next);

    friend bool operator==(const RollupCover&, const RollupCover&) = default;
};

void write_cover(RecordWriter& writer, EpochNumber epoch, std::uint64_t row_count, std::span<const SeqRange> seqs);
[[nodiscard]] RollupCover read_cover(RecordReader& reader);

// `before`: where the cell before ends, and its number; of the first the least there are. The reader fails when they
// don't ascend.
void write_bounds(RecordWriter& writer, const CellBounds& bounds, Ticks before);
[[nodiscard]] CellBounds read_bounds(RecordReader& reader, const CellBounds* before);

// The weight that all rows have, if they do; 0 when they differ.
[[nodiscard]] std::uint64_t weight_of_each(std::span<const StackSum> sums);
// Ascending by stack, at least one; the reader fails otherwise. `weight_each` as above, written elsewhere.
void write_sums(RecordWriter& writer, std::span<const StackSum> sums, std::uint64_t weight_each);
// Appends them; gives their rows.
[[nodiscard]] std::uint64_t read_sums(RecordReader& reader, std::uint64_t weight_each, std::vector<StackSum>& sums);

// The sum; the reader fails when it takes more than 64 bits.
[[nodiscard]] std::uint64_t sum_of(RecordReader& reader, std::uint64_t a, std::uint64_t b);

}  // namespace perfleet
