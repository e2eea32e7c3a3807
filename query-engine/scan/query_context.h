// The surroundings of a query: the memory pool that it shares with other queries, the flag that cancels it, and the
// receiver of its progress reports. Scans borrow one.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "query-engine/scan/query_memory.h"
#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/series.h"

namespace perfleet {

class Scan;

class QueryContext {
public:
    QueryContext() = default;
    explicit QueryContext(ProgressReport report) : report_{std::move(report)} {}
    // Borrows the pool (null: none) and the flag.
    QueryContext(MemoryPool* pool, const std::atomic<bool>& cancelled, ProgressReport report)
        : pool_{pool}, cancelled_{&cancelled}, report_{std::move(report)} {}

    [[nodiscard]] MemoryPool* pool() const { return pool_; }  // null: no pool is shared

    // Error: kCancelled, once the flag is set. Called before each session and each block.
    [[nodiscard]] Result<Done> go_on() const;

    // Progress counts rows of the kinds that are read. Rows that are read twice count once. The total includes rows
    // that summaries replace and that are therefore never read.
    struct Place {
        const Scan* scan = nullptr;
        std::size_t session_index = 0;
        EpochNumber epoch;
        Series series;

        friend auto operator<=>(const Place&, const Place&) = default;
    };
    void expect(Kind kind, std::uint64_t row_count);
    // `row_count` rows of this place have been read so far.
    void advance(const Place& place, std::uint64_t row_count);

private:
    MemoryPool* pool_ = nullptr;
    const std::atomic<bool>* cancelled_ = nullptr;
    ProgressReport report_;
    std::mutex mutex_;
    std::map<Kind, std::uint64_t> expected_;
    std::map<Kind, std::uint64_t> read_;
    std::map<Place, std::uint64_t> read_of_;
};

}  // namespace perfleet
