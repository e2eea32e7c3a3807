// Limits of a batch, its epoch and its session.
//
// Freestanding. Sizes are bytes, counts are counts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

// -- a batch ----------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kBatchRowsMax = 16'384;       // rows of one series in one batch
inline constexpr std::uint32_t kBatchSeriesMax = 64;         // series in one batch
inline constexpr std::uint32_t kColumnsMax = 32;             // columns of one series
inline constexpr std::size_t kBatchSizeBytesMax = 4U << 20;  // the whole message
inline constexpr std::uint64_t kBatchAgeNsMax = 2'000'000'000;
inline constexpr std::uint32_t kCountsMax = 1'024;        // cumulative counts in one batch
inline constexpr std::uint32_t kDroppedRangesMax = 64;    // ranges of dropped batches named in one batch
inline constexpr std::uint32_t kClockPointsMax = 64;      // new clock points in one batch
inline constexpr std::size_t kRawBytesMax = 65'535;       // raw data of one tracepoint row
inline constexpr std::size_t kSeriesBytesMax = 2U << 20;  // the byte column (strings, raw data) of one series

// -- an epoch ---------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kStackNodesMax = 1U << 20;
inline constexpr std::uint32_t kImagesMax = 1U << 16;
inline constexpr std::uint32_t kStringsMax = 1U << 18;
inline constexpr std::uint32_t kStackDepthMax = 127;       // frames of the kernel's own call chains, by its default
inline constexpr std::uint32_t kStackChainMax = 1'024;     // nodes of one chain that a reader follows
inline constexpr std::size_t kStringSizeBytesMax = 4'096;  // as PATH_MAX
inline constexpr std::size_t kBuildIdSizeBytesMax = 20;

// -- a session --------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kEventsMax = 512;  // all of syscalls:sys_enter_*, and some others
inline constexpr std::uint32_t kLabelsMax = 32;
inline constexpr std::size_t kLabelSizeBytesMax = 256;
inline constexpr std::size_t kEventFormatSizeBytesMax = 65'536;
inline constexpr std::size_t kEventAttrSizeBytesMax = 4'096;  // Linux accepts no larger one
inline constexpr std::size_t kHelloSizeBytesMax = 1U << 20;
inline constexpr std::size_t kReplySizeBytesMax = 4'096;  // any message from the gateway to a collector
inline constexpr std::size_t kImageChunkSizeBytes = 256U << 10;
inline constexpr std::size_t kImageSizeBytesMax = 64U << 20;    // the content of one image that travels
inline constexpr std::size_t kSymbolsSizeBytesMax = 64U << 20;  // of each of its zstd frames, unpacked

}  // namespace perfleet::limits
