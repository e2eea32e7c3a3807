// Every bound of the system that more than one room must know. A queue, cache, message or loop without a limit is a
// bug.
//
// Freestanding. Sizes are bytes, counts are counts. Where a program has an option, this is its default.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

// -- a batch ----------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kBatchRowsMax = 16'384;       // rows of one series in one batch
inline constexpr std::uint32_t kBatchSeriesMax = 64;         // series in one batch
inline constexpr std::uint32_t kColumnsMax = 24;             // columns of one series
inline constexpr std::size_t kBatchSizeBytesMax = 4U << 20;  // the whole message
inline constexpr std::uint64_t kBatchAgeNsMax = 2'000'000'000;
inline constexpr std::uint32_t kTalliesMax = 1'024;       // cumulative counts in one batch
inline constexpr std::uint32_t kDroppedRangesMax = 64;    // ranges of dropped batches named in one batch
inline constexpr std::uint32_t kClockPointsMax = 64;      // new clock points in one batch
inline constexpr std::size_t kRawBytesMax = 65'535;       // raw data of one tracepoint row
inline constexpr std::size_t kSeriesBytesMax = 2U << 20;  // the byte column (strings, raw data) of one series

// -- an epoch ---------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kStackNodesMax = 1U << 20;
inline constexpr std::uint32_t kImagesMax = 1U << 16;
inline constexpr std::uint32_t kStringsMax = 1U << 18;
inline constexpr std::uint32_t kStackDepthMax = 127;       // frames of one call chain, as the kernel's own default
inline constexpr std::uint32_t kStackChainMax = 1'024;     // nodes of one chain that a reader follows
inline constexpr std::size_t kStringSizeBytesMax = 4'096;  // as PATH_MAX
inline constexpr std::size_t kBuildIdSizeBytesMax = 20;

// -- a session --------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kEventsMax = 512;  // all of syscalls:sys_enter_*, and more beside them
inline constexpr std::uint32_t kLabelsMax = 32;
inline constexpr std::size_t kLabelSizeBytesMax = 256;
inline constexpr std::size_t kEventFormatSizeBytesMax = 65'536;
inline constexpr std::size_t kHelloSizeBytesMax = 1U << 20;
inline constexpr std::size_t kReplySizeBytesMax = 4'096;  // any message from the gateway to a collector
inline constexpr std::size_t kImageChunkSizeBytes = 256U << 10;
inline constexpr std::size_t kImageSizeBytesMax = 64U << 20;  // the content of one image that travels

// -- delivery ---------------------------------------------------------------------------------------------------------
inline constexpr std::uint64_t kSendWindowBatches = 64;  // beyond the acknowledged prefix
inline constexpr std::size_t kCollectorRingSizeBytes = 8U << 20;
inline constexpr std::size_t kSpoolSizeBytes = 64U << 20;       // in memory
inline constexpr std::size_t kDiskSpoolSizeBytes = 256U << 20;  // all that is kept in a spool folder
inline constexpr std::uint32_t kSpoolSessionsMax = 64;          // ended sessions that wait in a spool folder
inline constexpr std::uint64_t kAckIntervalNs = 1'000'000'000;  // a Hello or Bye without an answer is repeated
inline constexpr std::uint64_t kPutOffNs = 60'000'000'000;      // a session that is one too many for now asks again
inline constexpr std::uint64_t kResendAfterNs = 3'000'000'000;  // an unacknowledged batch is sent again
inline constexpr std::uint64_t kGroupCommitNs = 20'000'000;
inline constexpr std::size_t kGroupCommitSizeBytes = 16U << 20;
inline constexpr std::size_t kGatewayMemorySizeBytes = 1U << 30;  // all that a gateway process may grow to
inline constexpr std::uint32_t kGatewaySessionsMax = 65'536;      // sessions remembered in memory at once
inline constexpr std::uint32_t kOutOfOrderSeqsMax = 4'096;        // seqs above the acknowledged prefix, per session

// -- storage ----------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kBlockRowsMax = kBatchRowsMax;  // rows of one block
inline constexpr std::uint16_t kPartitionShards = 16;
inline constexpr std::uint32_t kJoinedPartsMax = 4'096;            // batches in one joined block
inline constexpr std::size_t kJoinedBlockSizeBytesMax = 2U << 20;  // of the blocks that one is joined from
inline constexpr std::uint32_t kJoinedBatchesMax = 1'024;          // batch records in one value
inline constexpr std::int64_t kJoinGraceS = 600;                   // after a bucket's end, before its rows are joined
inline constexpr std::uint32_t kRollupRowsMin = kBlockRowsMax;     // fewer are read from their blocks as quickly
inline constexpr std::uint32_t kRollupRowsPerSum = 4;              // at least, or it isn't kept: it would save little
inline constexpr std::uint32_t kRollupSumsMax = 1U << 18;          // of one rollup
inline constexpr std::uint32_t kRollupCellsMax = 4'096;            // of one rollup
inline constexpr std::uint32_t kRollupSeqRangesMax = 65'536;       // of one rollup
inline constexpr std::size_t kRollupSizeBytesMax = 8U << 20;       // of one, encoded; and of those written together
inline constexpr std::uint32_t kRollupBatchesMax = 1U << 18;       // of a session in an hour, for rollups to be made of
inline constexpr std::uint32_t kRollupRenamesMax = 1U << 20;       // of an epoch's threads, likewise
inline constexpr std::size_t kStoreMemorySizeBytes =
    256U << 20;                                         // what a writer keeps in memory of what it was given and reads
inline constexpr std::uint32_t kStoreSeqsMax = 65'536;  // stored above its watermark, per session
inline constexpr std::uint32_t kStoreSeqsTotalMax = 1U << 20;  // of them remembered in memory, over all sessions

// -- queries ----------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kQueryChunkRows = 4'096;
inline constexpr std::size_t kQueryChunkSizeBytes = 256U << 10;
inline constexpr std::uint32_t kQueryColumnsMax = 256;
inline constexpr std::uint32_t kQueryChunksAheadMax = 16;  // sent before the asker says that it has taken some
inline constexpr std::uint32_t kQueriesAtOnceMax = 64;
inline constexpr std::uint64_t kQueryWorkingIntervalNs = 1'000'000'000;  // a running query says so this often
inline constexpr std::uint64_t kQueryPatienceNs = 10'000'000'000;        // an asker waits so long for any word
inline constexpr std::uint64_t kQueryIdleNs = 60'000'000'000;            // a server for an asker to take chunks
inline constexpr std::size_t kSelectSizeBytesMax = 4'096;
inline constexpr std::size_t kQueryMemorySizeBytes = 1U << 30;  // for what a query reads and counts
inline constexpr std::size_t kQueryMemorySizeBytesMin = 1U << 20;
inline constexpr std::size_t kQueriesMemorySizeBytes = 1U << 30;  // for all queries of a process together

}  // namespace perfleet::limits
