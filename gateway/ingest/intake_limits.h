// Bounds of the gateway that no other room must know. Those that others share: vocabulary/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfleet::intake_limits {

// -- a Hello ----------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kNameSizeBytesMax = 256;  // of a target, architecture, clock, unit, collector version
inline constexpr std::size_t kHostTextSizeBytesMax = 4'096;
inline constexpr std::uint32_t kCommandLineWordsMax = 4'096;
inline constexpr std::uint32_t kImageOffersMax = 64;
inline constexpr std::size_t kDeviceIdSizeBytesMax = 64;

// -- a batch ----------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kBucketsAheadMax = 2;  // of the gateway's own UTC

// -- sessions ---------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kSessionsSizeBytesMax = 256U << 20;  // descriptions kept in memory, beside the count
inline constexpr std::uint32_t kSessionsKnownMax = 1U << 18;      // stored sessions whose identity is compared
inline constexpr std::uint32_t kRefusalsRememberedMax = 64;       // of one session, told again after a reconnect
inline constexpr std::uint32_t kPartitionsRememberedMax = 4;      // of one session, known to hold its definition

// -- delivery ---------------------------------------------------------------------------------------------------------
inline constexpr std::uint64_t kCreditBatchesMax = 8'192;  // over all peers, who share it
inline constexpr std::uint64_t kSendWindowBatchesMin = 2;  // of one peer, however many there are
inline constexpr std::uint64_t kStoreRetryNsMin = 100'000'000;
inline constexpr std::uint64_t kStoreRetryNsMax = 5'000'000'000;
inline constexpr std::size_t kReplyTextSizeBytesMax = 1'024;
inline constexpr std::uint64_t kComplaintsMax =
    8;  // lines about collectors for the operator, an acknowledgement interval

// -- images -----------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kImagesSizeBytesMax = 64U << 20;  // on their way, over all peers
inline constexpr std::uint64_t kImageAskAgainNs = 5'000'000'000;
inline constexpr std::uint32_t kImageAsksMax = 4;                // without an answer
inline constexpr std::uint32_t kImagesRememberedMax = 1U << 16;  // build-ids known to be stored

}  // namespace perfleet::intake_limits
