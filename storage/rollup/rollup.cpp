#include "storage/rollup/rollup.h"

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "storage/model/record_bytes.h"
#include "storage/model/rollup_cover.h"
#include "storage/store_limits.h"

namespace perfleet {
namespace {

void write_threads(RecordWriter& writer, const Rollup& rollup, std::uint32_t first, const Rollup::Cell& cell,
                   std::uint64_t weight_each) {
    for (std::uint32_t i = first; i < cell.threads_end; ++i) {
        const Rollup::Thread& thread = rollup.threads[i];
        const std::uint32_t sums_begin = i == 0 ? 0 : rollup.threads[i - 1].sums_end;
        writer.varint(thread.pid);
        writer.varint(thread.tid);
        writer.varint(thread.first_ticks.value - cell.from.value);
        writer.varint(thread.last_ticks.value - thread.first_ticks.value);
        write_sums(writer, std::span{rollup.sums}.subspan(sums_begin, thread.sums_end - sums_begin), weight_each);
    }
}

class Body {
public:
    Body(RecordReader& reader, Rollup& rollup) : reader_{reader}, rollup_{rollup} {}

    void read() {
        weight_each_ = reader_.varint();
        const std::uint64_t cell_count = reader_.varint(limits::kRollupCellsMax);
        for (std::uint64_t i = 0; i < cell_count && !reader_.has_failed(); ++i) {
            read_cell();
        }
        if (row_count_ != rollup_.row_count) {
            reader_.fail(ErrorCode::kInvalid, "its sums aren't those of its rows");
        }
    }

private:
    void read_cell() {
        const auto before = rollup_.cells.empty() ? std::nullopt : std::optional{rollup_.cells.back().bounds()};
        const CellBounds bounds = read_bounds(reader_, before ? &*before : nullptr);
        Rollup::Cell cell{bounds.number, bounds.from, bounds.until, 0};
        const std::uint64_t thread_count = reader_.varint(limits::kRollupSizeBytesMax);
        if (thread_count == 0) {
            reader_.fail(ErrorCode::kInvalid, "a cell without rows");
        }
        const std::size_t threads_begin = rollup_.threads.size();
        for (std::uint64_t i = 0; i < thread_count && !reader_.has_failed(); ++i) {
            read_thread(cell, threads_begin);
        }
        cell.threads_end = static_cast<std::uint32_t>(rollup_.threads.size());
        rollup_.cells.push_back(cell);
    }

    void read_thread(const Rollup::Cell& cell, std::size_t threads_begin) {
        Rollup::Thread thread;
        thread.pid = static_cast<std::uint32_t>(reader_.varint(UINT32_MAX));
        thread.tid = static_cast<std::uint32_t>(reader_.varint(UINT32_MAX));
        thread.first_ticks = Ticks{sum_of(reader_, cell.from.value, reader_.varint())};
        thread.last_ticks = Ticks{sum_of(reader_, thread.first_ticks.value, reader_.varint())};
        const auto place = [](const Rollup::Thread& one) { return std::tuple{one.pid, one.tid, one.first_ticks}; };
        if (thread.last_ticks >= cell.until ||
            (rollup_.threads.size() > threads_begin && place(thread) <= place(rollup_.threads.back()))) {
            reader_.fail(ErrorCode::kInvalid, "a thread outside its cell, or out of order");
        }
        row_count_ = sum_of(reader_, row_count_, read_sums(reader_, weight_each_, rollup_.sums));
        thread.sums_end = static_cast<std::uint32_t>(rollup_.sums.size());
        rollup_.threads.push_back(thread);
    }

    RecordReader& reader_;
    Rollup& rollup_;
    std::uint64_t weight_each_ = 0;
    std::uint64_t row_count_ = 0;
};

}  // namespace

std::string encode_rollup(const Rollup& rollup) {
    RecordWriter writer;
    write_cover(writer, rollup.epoch, rollup.row_count, rollup.seqs);
    const std::uint64_t weight_each = weight_of_each(rollup.sums);
    writer.varint(weight_each);
    writer.varint(rollup.cells.size());
    std::uint32_t threads_begin = 0;
    Ticks before{0};
    for (const Rollup::Cell& cell : rollup.cells) {
        write_bounds(writer, cell.bounds(), before);
        writer.varint(cell.threads_end - threads_begin);
        write_threads(writer, rollup, threads_begin, cell, weight_each);
        threads_begin = cell.threads_end;
        before = cell.until;
    }
    return writer.finish();
}

Result<RollupCover> decode_rollup_cover_untrusted(std::string_view bytes_untrusted) {
    RecordReader reader{bytes_untrusted, "rollup"};
    RollupCover cover = read_cover(reader);
    if (reader.has_failed()) {
        return reader.end().error();
    }
    return cover;
}

Result<Rollup> decode_rollup_untrusted(std::string_view bytes_untrusted) {
    if (bytes_untrusted.size() > 2 * limits::kRollupSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, "rollup: " + std::to_string(bytes_untrusted.size()) + " bytes"};
    }
    RecordReader reader{bytes_untrusted, "rollup"};
    RollupCover cover = read_cover(reader);
    Rollup rollup;
    rollup.epoch = cover.epoch;
    rollup.row_count = cover.row_count;
    rollup.seqs = std::move(cover.seqs);
    Body{reader, rollup}.read();
    PERFLEET_TRY(reader.end());
    return rollup;
}

}  // namespace perfleet
