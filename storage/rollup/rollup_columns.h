// What the records of all rollups have in common: what they cover, cells of time, and sums of call chains. They are
// tables, of which each field is a column.
//
// Byte layout: storage/FORMAT.md. Of what is read nothing is believed until the check_… of it has passed; the reader
// fails where it doesn't.
#pragma once

#include <cstddef>
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

void write_sums(RecordWriter& writer, std::span<const StackSum> sums);
void read_sums(RecordReader& reader, std::vector<StackSum>& sums);
// Those from `begin` to `end`: at least one, ascending by stack. Gives their rows.
[[nodiscard]] std::uint64_t check_sums(RecordReader& reader, std::span<const StackSum> sums, std::size_t begin,
                                       std::size_t end);

// The columns of CellBounds. `io`: a RecordWriter or a RecordReader.
template <class Io, class Cells>
void bounds_columns(Io& io, Cells& cells) {
    io.column(cells, [](auto& cell) { return &cell.number; });
    io.column(cells, [](auto& cell) { return &cell.from.value; });
    io.column(
        cells, [](auto& cell) { return &cell.until.value; }, [](auto& cell) { return cell.from.value; });
}
// `before`: the cell before, if there is one.
void check_cell(RecordReader& reader, const CellBounds* before, const CellBounds& cell);

// Of a rollup of stacks or of values. Without checking more than the checksum.
[[nodiscard]] Result<RollupCover> decode_rollup_cover_untrusted(std::string_view bytes_untrusted);

}  // namespace perfleet
