// What a query is run under: the memory of all queries that it is part of, who may end it, and whom it tells how far it
// has come. Scans borrow one.
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

    [[nodiscard]] MemoryPool* pool() const { return pool_; }  // null: its memory is its own

    // kCancelled, once the flag is set. Asked before each session and each block.
    [[nodiscard]] Result<Done> go_on() const;

    // Progress is in rows of the kinds that are read. What is read again counts once; what is never read, because a
    // summary stands for it, isn't known before.
    struct Place {
        const Scan* scan = nullptr;
        std::size_t session_index = 0;
        EpochNumber epoch;
        Series series;

        friend auto operator<=>(const Place&, const Place&) = default;
    };
    void expect(Kind kind, std::uint64_t row_count);
    // So many rows of this place are read by now.
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
