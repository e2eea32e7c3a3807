// Reads a session's rows epoch by epoch for the makers of summaries and dictionaries, skipping damaged ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "schemas/vocabulary/time.h"
#include "storage/block/block.h"
#include "storage/engine/damaged_reads.h"
#include "storage/model/keys.h"
#include "storage/model/row_cover.h"
#include "storage/read/keyed_reads.h"

namespace perfleet {

// A batch's rows of one series. Lists of them ascend by seq.
struct BatchRows {
    Seq seq;
    std::uint32_t row_count = 0;
    bool is_skipped = false;  // above the watermark, or with a row at the greatest tick, which no range has
};

// The rows of an epoch's batches in one partition.
struct EpochBatches {
    std::map<Series, std::vector<BatchRows>> series;  // series with rows
    RowCover meaning;                                 // rows whose kind gives_meaning()
    RowCover definitions;                             // rows whose kind defines_stacks(), in one range
    bool is_final = true;  // no batch is above the watermark, so no batch can come in between
};

struct SessionBatches {
    std::map<EpochNumber, EpochBatches> epochs;
    std::vector<ClockPoint> points;
    bool is_whole = true;  // false: there are more than limits::kMadeBatchesMax batches, and these are the first
};

// Damaged records are left out: a reader that can read them ignores summaries and dictionaries made without them.
[[nodiscard]] Result<SessionBatches> read_session_batches(const KeyedReads& reads, const Partition& partition,
                                                          const SessionName& session);

// Rows [first, last) of a block belong to batch `index`.
struct BatchPart {
    std::size_t index = 0;
    std::size_t first = 0;
    std::size_t last = 0;
};
// The parts of `block` that belong to batches from `begin` on, without skipped ones.
[[nodiscard]] std::vector<BatchPart> parts_of(const BlockView& block, std::span<const BatchRows> batches,
                                              std::size_t begin);

// The blocks of one series and epoch, as they were when the cursor was opened.
class EpochBlockCursor {
public:
    EpochBlockCursor(const Engine& engine, KeyRange range, Series series, EpochNumber epoch)
        : engine_{&engine}, range_{std::move(range)}, series_{series}, epoch_{epoch} {
        reopen();
    }

    // The next block; null at the end. Skips damaged blocks. Borrowed until the next call.
    [[nodiscard]] Result<const BlockView*> next();

    // Continues after the current block with the present state of the store, so that no old state is pinned during a
    // pause.
    void reopen();

private:
    const Engine* engine_;
    KeyRange range_;
    std::optional<ReadableCursor> at_;
    Series series_;
    EpochNumber epoch_;
    BlockView block_;
};

}  // namespace perfleet
