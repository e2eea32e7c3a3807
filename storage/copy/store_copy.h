// Copies a store into another one, new or not, and compares the two.
//
// A session's rows of an hour are copied as they stand, compacted or not, unless they are there already; so a copy that
// was interrupted is begun again and goes on, and one that is repeated adds what has come since. What retention dropped
// on either side stays dropped there, and its rows are counted. Watermarks come last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/host/progress.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/keys.h"

namespace perfleet {

// How many of the source, and how many of them were not there yet and are now.
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
    std::uint64_t row_count_left_out = 0;  // of the batches: their blocks can't be read in the source
    std::uint64_t size_bytes = 0;          // of rows and records that were copied
    std::uint64_t row_count_expired = 0;   // rows that the target had dropped the hour of: not copied
    std::uint64_t row_count_dropped = 0;   // rows that the source had dropped: counted in the target, too
    // Over everything of the source, and over the same of the target; equal when the target holds all of it.
    std::uint32_t checksum_in_source = 0;
    std::uint32_t checksum_in_target = 0;
    std::vector<std::string> refused;  // what stays out, and why; at most kRefusedMax of them
    std::uint64_t refused_count = 0;
    std::vector<std::string> damage;  // of the source: what could not be read; likewise

    static constexpr std::size_t kNotesMax = 32;
};

// `from` may have a live writer; the copy is of the moment at which it is opened. `to` is created when it is missing;
// no gateway may write there. `shards` as in StoreOptions; a copy may have another number than the source. Errors:
// kUsage (the same folder, another number of shards), kNotFound (no store in `from`), kBusy, kUnsupported (a
// newer format), kFull, kIo. Damage of the source is told, and everything else copied.
[[nodiscard]] Result<CopyReport> copy_store(const std::string& from, const std::string& to,
                                            const ProgressReport& progress = {},
                                            std::optional<ShardCount> shards = std::nullopt);

}  // namespace perfleet
