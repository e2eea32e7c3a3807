// The records of rollups: how all of them begin, whatever they sum. Byte layout: storage/FORMAT.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/record_bytes.h"
#include "storage/model/rollup_cover.h"
#include "storage/rollup/cells.h"

namespace perfleet {

// Rows with one call chain.
struct StackSum {
    StackNumber stack;
    std::uint64_t row_count = 0;  // at least 1
    std::uint64_t weight = 0;     // of all rows, modulo 2^64

    friend bool operator==(const StackSum&, const StackSum&) = default;
};

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

}  // namespace perfleet
