// Workers take turns at the store; each checks, decodes and visits the blocks that it has read.
#include <mutex>
#include <optional>
#include <thread>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "query-engine/scan/start_threads.h"

namespace perfleet {

Result<Done> Scan::visit_rows_in_parallel(std::size_t session_index, EpochNumber epoch, Series series,
                                          const CoveredSeqs& covered, unsigned worker_count,
                                          const std::function<void(unsigned worker, RowBlock&)>& visitor) const {
    EpochBlocks blocks{*this, session_index, epoch, series, &covered};
    std::mutex reading;
    std::optional<Error> error;

    const auto visit = [&](unsigned worker, BlockRows& rows, const BlockPlace& place,
                           std::string_view bytes_untrusted) -> Result<std::uint64_t> {
        PERFLEET_TRY(rows.open(place, bytes_untrusted));
        for (;;) {
            const Result<RowBlock*> block = rows.next(std::nullopt);
            if (!block.ok() || *block == nullptr) {
                return block.ok() ? Result<std::uint64_t>{rows.expected_row_count()} : block.error();
            }
            visitor(worker, **block);
        }
    };
    const auto work = [&](std::size_t worker) {
        BlockRows rows{*this, &covered};
        BlockPlace place;
        std::string bytes_untrusted;
        for (Result<std::uint64_t> row_count = std::uint64_t{0};;
             row_count = visit(static_cast<unsigned>(worker), rows, place, bytes_untrusted)) {
            const std::lock_guard lock{reading};
            blocks.take(row_count);
            const Result<bool> is_any = memory_->is_exceeded() ? Result<bool>{false} : blocks.next();
            if (!is_any.ok()) {
                error = is_any.error();
            }
            if (!is_any.ok() || !*is_any) {
                return;
            }
            place = blocks.place();
            bytes_untrusted = blocks.bytes_untrusted();
        }
    };
    std::vector<std::thread> workers;
    start_threads(worker_count - 1, workers, [&](std::size_t index) { work(index + 1); });
    work(0);
    for (std::thread& worker : workers) {
        worker.join();
    }
    if (error) {
        return std::move(*error);
    }
    PERFLEET_TRY(memory_->check());
    blocks.finish();
    return Done{};
}

}  // namespace perfleet
