#include "storage/rollup/rollup.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "storage/model/record_bytes.h"
#include "storage/model/rollup_cover.h"
#include "storage/store_limits.h"

namespace perfleet {
namespace {

// Of cells and threads; a RecordWriter or a RecordReader.
template <class Io, class Table>
void columns(Io& io, Table& rollup) {
    io.rows(rollup.cells, limits::kRollupCellsMax);
    bounds_columns(io, rollup.cells);
    io.column(rollup.cells, [](auto& cell) { return &cell.threads_end; });
    io.rows(rollup.threads, std::min<std::uint64_t>(limits::kRollupTableRowsMax, rollup.row_count));
    io.column(rollup.threads, [](auto& thread) { return &thread.pid; });
    io.column(rollup.threads, [](auto& thread) { return &thread.tid; });
    io.column(rollup.threads, [](auto& thread) { return &thread.first_ticks.value; });
    io.column(
        rollup.threads, [](auto& thread) { return &thread.last_ticks.value; },
        [](auto& thread) { return thread.first_ticks.value; });
    io.column(rollup.threads, [](auto& thread) { return &thread.sums_end; });
}

void check(RecordReader& reader, const Rollup& rollup) {
    const auto place = [](const Rollup::Thread& one) { return std::tuple{one.pid, one.tid, one.first_ticks}; };
    std::uint64_t row_count = 0;
    std::size_t thread = 0;
    std::size_t sum = 0;
    const CellBounds* before = nullptr;
    for (const Rollup::Cell& cell : rollup.cells) {
        check_cell(reader, std::exchange(before, &cell), cell);
        const std::size_t begin = thread;
        if (cell.threads_end <= begin || cell.threads_end > rollup.threads.size()) {
            reader.fail(ErrorCode::kInvalid, "a cell without rows");
            return;
        }
        for (; thread < cell.threads_end && !reader.has_failed(); ++thread) {
            const Rollup::Thread& one = rollup.threads[thread];
            if (one.first_ticks < cell.from || one.last_ticks >= cell.until ||
                (thread > begin && place(one) <= place(rollup.threads[thread - 1]))) {
                reader.fail(ErrorCode::kInvalid, "a thread outside its cell, or out of order");
            }
            row_count = reader.sum_of(row_count, check_sums(reader, rollup.sums, sum, one.sums_end));
            sum = one.sums_end;
        }
    }
    if (thread != rollup.threads.size() || sum != rollup.sums.size() || row_count != rollup.row_count) {
        reader.fail(ErrorCode::kInvalid, "its sums aren't those of its rows");
    }
}

}  // namespace

std::string encode_rollup(const Rollup& rollup) {
    RecordWriter writer;
    write_cover(writer, rollup.epoch, rollup.row_count, rollup.seqs);
    columns(writer, rollup);
    write_sums(writer, rollup.sums);
    return writer.finish();
}

Result<Rollup> decode_rollup_untrusted(std::string_view bytes_untrusted) {
    RecordReader reader{bytes_untrusted, "rollup"};
    RollupCover cover = read_cover(reader);
    Rollup rollup;
    rollup.epoch = cover.epoch;
    rollup.row_count = cover.row_count;
    rollup.seqs = std::move(cover.seqs);
    columns(reader, rollup);
    read_sums(reader, rollup.sums);
    check(reader, rollup);
    PERFLEET_TRY(reader.end());
    return rollup;
}

}  // namespace perfleet
