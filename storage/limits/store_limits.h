// What a store and its derived data take at most. Where a program has an option, this is its default.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet::limits {

inline constexpr std::uint32_t kBlockRowsMax = kBatchRowsMax;  // rows of one block
inline constexpr std::uint16_t kShardsDefault = 16;            // of a new store
inline constexpr std::uint16_t kShardsMax = 1'024;             // each is a directory on RADOS, and a key of each drop
inline constexpr std::uint32_t kCompactedPartsMax = 4'096;     // batches in one compacted block
inline constexpr std::size_t kCompactedBlockSizeBytesMax = 2U << 20;  // of the blocks that one is compacted from
inline constexpr std::uint32_t kCompactedBatchesMax = 1'024;          // batch records in one value
inline constexpr std::int64_t kCompactionGraceS = 600;           // after a bucket's end, before its rows are compacted
inline constexpr std::uint32_t kSummaryHoursMin = 2;             // of a summary: it saves reading the others
inline constexpr std::uint32_t kSummaryHoursMax = 1'024;         // epochs that one stands for
inline constexpr std::uint32_t kSummarySaving = 2;               // its hours have so many times its sums at least
inline constexpr std::uint32_t kSummarySumsMax = 1U << 18;       // while one is made
inline constexpr std::uint32_t kSummaryTableRowsMax = 1U << 21;  // of the names or sums of one
inline constexpr std::size_t kSummarySizeBytesMax = 8U << 20;    // of one, encoded
inline constexpr std::uint32_t kCoverRangesMax = 65'536;         // of seqs that a summary or a map says it is made of
inline constexpr std::uint32_t kMadeBatchesMax = 1U << 18;       // of a session in an hour, for these to be made of
inline constexpr std::size_t kStoreMemorySizeBytes =
    256U << 20;                                         // what a writer keeps in memory of what it was given and reads
inline constexpr std::uint32_t kStoreSeqsMax = 65'536;  // stored above its watermark, per session
inline constexpr std::uint32_t kStoreSeqsTotalMax = 1U << 20;  // of them remembered in memory, over all sessions
inline constexpr std::size_t kSelectSizeBytesMax = 4'096;      // of the text of a selection

}  // namespace perfleet::limits
