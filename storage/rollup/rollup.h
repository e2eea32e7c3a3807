// A rollup: how often each thread was seen with each call chain, by cells of time, over whole batches of one series and
// epoch. It stands for those batches' rows wherever its cells lie wholly inside or outside of the time that is asked
// for.
//
// Byte layout, golden bytes and why it is so: storage/FORMAT.md. Plain values; what is decoded is untrusted bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"
#include "storage/model/rollup_cover.h"
#include "storage/rollup/rollup_columns.h"

namespace perfleet {

// Threads of a cell and sums of a thread follow each other in `threads` and `sums`; each owner tells where its own end.
struct Rollup {
    // As its bounds were when the rollup was made.
    struct Cell : CellBounds {
        std::uint32_t threads_end = 0;

        friend bool operator==(const Cell&, const Cell&) = default;
    };
    // A thread between two moments at which its name may have changed: it comes several times in a cell otherwise.
    struct Thread {
        std::uint32_t pid = 0;
        std::uint32_t tid = 0;
        Ticks first_ticks;  // of its rows, both included
        Ticks last_ticks;
        std::uint32_t sums_end = 0;

        friend bool operator==(const Thread&, const Thread&) = default;
    };
    using Sum = StackSum;

    EpochNumber epoch;
    std::uint64_t row_count = 0;
    std::vector<SeqRange> seqs;   // of the epoch's batches with rows of the series all in these are covered; ascending
    std::vector<Cell> cells;      // ascending; none without rows, none overlaps another
    std::vector<Thread> threads;  // of a cell ascending by (pid, tid, first_ticks)
    std::vector<Sum> sums;        // of a thread ascending by stack

    friend bool operator==(const Rollup&, const Rollup&) = default;
};

// Equal rollups give equal bytes.
[[nodiscard]] std::string encode_rollup(const Rollup& rollup);

// Everything that the comments above promise holds in what it gives. Errors: kTruncated, kCorrupt, kInvalid,
// kTooLarge, kUnsupported (a newer version, named).
[[nodiscard]] Result<Rollup> decode_rollup_untrusted(std::string_view bytes_untrusted);

}  // namespace perfleet
