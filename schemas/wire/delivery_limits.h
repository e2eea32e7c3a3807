// Limits of delivery that collectors and gateways share: windows, spools, intervals. If a program has an option, this
// is its default.
//
// Freestanding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::limits {

inline constexpr std::uint64_t kSendWindowBatches = 64;  // beyond the acknowledged prefix
inline constexpr std::size_t kCollectorRingSizeBytes = 8U << 20;
inline constexpr std::size_t kSpoolSizeBytes = 64U << 20;          // in memory
inline constexpr std::size_t kDiskSpoolSizeBytes = 256U << 20;     // everything in a spool folder
inline constexpr std::uint32_t kSpoolSessionsMax = 64;             // ended sessions in a spool folder
inline constexpr std::uint64_t kAckIntervalNs = 1'000'000'000;     // also after which an unanswered Hello or Bye is
                                                                   // repeated
inline constexpr std::uint64_t kRetryDeferredNs = 60'000'000'000;  // a deferred session is retried after this
inline constexpr std::uint64_t kResendAfterNs = 3'000'000'000;     // an unacknowledged batch is sent again after this
inline constexpr std::uint64_t kGroupCommitNs = 20'000'000;
inline constexpr std::size_t kGroupCommitSizeBytes = 16U << 20;
inline constexpr std::size_t kGatewayMemorySizeBytes = 1U << 30;  // limit of a gateway process
inline constexpr std::uint32_t kGatewaySessionsMax = 65'536;      // sessions remembered in memory at once
inline constexpr std::uint32_t kOutOfOrderSeqsMax = 4'096;        // seqs above the acknowledged prefix, per session

}  // namespace perfleet::limits
