// What the makers of summaries and dictionaries read of a session, epoch by epoch, passing over what is damaged.
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

// A batch's rows of one series. They are held ascending by seq.
struct BatchRows {
    Seq seq;
    std::uint32_t row_count = 0;
    bool is_passed_over = false;  // above the watermark, or with a row at the greatest tick, which no time holds
};

// What the batches of an epoch name in one partition.
struct EpochBatches {
    std::map<Series, std::vector<BatchRows>> series;  // that have rows
    RowCover meaning;                                 // of rows that gives_meaning()
    RowCover definitions;                             // of rows that defines_stacks(), in one range
    bool is_final = true;  // no batch is above the watermark: none can come any more between them
};

struct SessionBatches {
    std::map<EpochNumber, EpochBatches> epochs;
    std::vector<ClockPoint> points;
    bool is_whole = true;  // else there are more than limits::kMadeBatchesMax, and these are the first
};

// Records that are damaged are left out: a reader who can read them passes over what is made without them.
[[nodiscard]] Result<SessionBatches> read_session_batches(const KeyedReads& reads, const Partition& partition,
                                                          const SessionName& session);

// Rows [first, last) of a block are those of batch `index`.
struct BatchPart {
    std::size_t index = 0;
    std::size_t first = 0;
    std::size_t last = 0;
};
// Of the batches from `begin` on, without those that are passed over.
[[nodiscard]] std::vector<BatchPart> parts_of(const BlockView& block, std::span<const BatchRows> batches,
                                              std::size_t begin);

// The blocks of one series that are this epoch's, as they were when the cursor was opened.
class EpochBlockCursor {
public:
    EpochBlockCursor(const Engine& engine, KeyRange range, Series series, EpochNumber epoch)
        : engine_{&engine}, range_{std::move(range)}, series_{series}, epoch_{epoch} {
        reopen();
    }

    // Null behind the last; passes over what is damaged. Borrowed until the next one.
    [[nodiscard]] Result<const BlockView*> next();

    // Goes on behind the block at hand, as things are now: so that nothing is pinned in memory while somebody waits.
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
