// Copies a store into another one, new or not, and compares the two.
//
// A session's rows of an hour are copied as they are, compacted or not, unless the target has them already. A repeated
// copy continues an interrupted one, and adds new rows to a finished one. What retention dropped on either side stays
// dropped there, and its rows are counted. Watermarks are copied last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/keys.h"

namespace perfleet {

// How many the source has, and how many of them were new to the target.
struct CopyCount {
    std::uint64_t in_source = 0;
    std::uint64_t copied = 0;
};

struct CopyReport {
    CopyCount sessions;
    CopyCount images;
    CopyCount parts;  // a session's rows of one partition
    CopyCount batches;
    CopyCount rows;
    std::uint64_t row_count_left_out = 0;  // of these batches, in blocks that the source can't read
    std::uint64_t size_bytes = 0;          // of copied rows and records
    std::uint64_t row_count_expired = 0;   // rows of hours that the target had dropped: not copied
    std::uint64_t row_count_dropped = 0;   // rows that the source had dropped: counted in the target, too
    // Over everything in the source, and over the same in the target; equal if the target holds all of it.
    std::uint32_t checksum_in_source = 0;
    std::uint32_t checksum_in_target = 0;
    std::vector<std::string> refused;  // what wasn't copied, and why; at most kNotesMax
    std::uint64_t refused_count = 0;
    std::vector<std::string> damage;  // unreadable parts of the source; at most kNotesMax

    static constexpr std::size_t kNotesMax = 32;
};

// `from` may have a live writer: the copy shows the moment at which it was opened. `to` is created if it is missing; no
// gateway may write there. `shards` as in StoreOptions; it may differ from the source. Errors: kUsage (the same folder,
// another number of shards), kNotFound (no store in `from`), kBusy, kUnsupported (a newer format), kFull, kIo. Damage
// of the source is reported, and everything else is copied.
[[nodiscard]] Result<CopyReport> copy_store(const std::string& from, const std::string& to,
                                            const ProgressReport& progress = {},
                                            std::optional<ShardCount> shards = std::nullopt);

}  // namespace perfleet
