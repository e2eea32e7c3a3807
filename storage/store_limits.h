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
inline constexpr std::int64_t kCompactionGraceS = 600;          // after a bucket's end, before its rows are compacted
inline constexpr std::uint32_t kRollupRowsMin = kBlockRowsMax;  // fewer are read from their blocks as quickly
inline constexpr std::uint32_t kRollupRowsPerSum = 4;           // at least, or it isn't kept: it would save little
inline constexpr std::uint32_t kRollupSumsMax = 1U << 18;       // of one rollup
inline constexpr std::uint32_t kRollupCellsMax = 4'096;         // of one rollup
inline constexpr std::uint32_t kRollupTableRowsMax = 1U << 21;  // of the threads, sums or buckets of one
inline constexpr std::uint32_t kRollupSeqRangesMax = 65'536;    // of one rollup
inline constexpr std::size_t kRollupSizeBytesMax = 8U << 20;    // of one, encoded; and of those written together
inline constexpr std::uint32_t kRollupBatchesMax = 1U << 18;    // of a session in an hour, for rollups to be made of
inline constexpr std::uint32_t kRollupRenamesMax = 1U << 20;    // of an epoch's threads, likewise
inline constexpr std::size_t kStoreMemorySizeBytes =
    256U << 20;                                         // what a writer keeps in memory of what it was given and reads
inline constexpr std::uint32_t kStoreSeqsMax = 65'536;  // stored above its watermark, per session
inline constexpr std::uint32_t kStoreSeqsTotalMax = 1U << 20;  // of them remembered in memory, over all sessions
inline constexpr std::size_t kSelectSizeBytesMax = 4'096;      // of the text of a selection

}  // namespace perfleet::limits
