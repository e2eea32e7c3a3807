// Limits of a store and its derived data. If a program has an option, this is its default.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::limits {

inline constexpr std::uint32_t kBlockRowsMax = kBatchRowsMax;  // rows of one block
inline constexpr std::uint16_t kShardsDefault = 16;            // of a new store
inline constexpr std::uint16_t kShardsMax = 1'024;  // each is a directory on RADOS, and costs a key for each drop
inline constexpr std::uint32_t kCompactedPartsMax = 4'096;            // batches in one compacted block
inline constexpr std::size_t kCompactedBlockSizeBytesMax = 2U << 20;  // of the blocks that are compacted into one
inline constexpr std::uint32_t kCompactedBatchesMax = 1'024;          // batch records in one value
inline constexpr std::int64_t kCompactionGraceS = 600;    // after a bucket's end, before its rows are compacted
inline constexpr std::uint32_t kSummaryHoursMin = 2;      // hours of a summary, at least
inline constexpr std::uint32_t kSummaryHoursMax = 1'024;  // epochs of a summary
inline constexpr std::uint32_t kSummarySaving = 2;  // a summary's hours together have at least this many times its sums
inline constexpr std::uint32_t kSummarySumsMax = 1U << 18;       // of a summary while it is made
inline constexpr std::uint32_t kSummaryTableRowsMax = 1U << 21;  // names or sums of one summary
inline constexpr std::size_t kSummarySizeBytesMax = 8U << 20;    // of one, encoded
inline constexpr std::uint32_t kCoverRangesMax = 65'536;         // ranges of seqs that a summary or a map covers
inline constexpr std::uint32_t kMadeBatchesMax =
    1U << 18;  // batches of a session in an hour; with more no summary or map is made
inline constexpr std::size_t kStoreMemorySizeBytes = 256U << 20;  // a writer's memory for recent writes and for reads
inline constexpr std::uint32_t kStoreSeqsMax = 65'536;            // stored above the watermark, per session
inline constexpr std::uint32_t kStoreSeqsTotalMax = 1U << 20;     // of them in memory, over all sessions
inline constexpr std::size_t kSelectSizeBytesMax = 4'096;         // of the text of a selection

}  // namespace perfleet::limits
