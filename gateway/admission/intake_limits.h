// Bounds of the gateway that no other room must know. Those that others share: batch_limits.h, delivery_limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schemas/wire/delivery_limits.h"
#include "schemas/wire/hello_limits.h"

namespace perfleet::intake_limits {

// -- a Hello ----------------------------------------------------------------------------------------------------------
using hello_limits::kCommandLineWordsMax;
using hello_limits::kNameSizeBytesMax;
inline constexpr std::size_t kHostTextSizeBytesMax = 4'096;
using hello_limits::kImageOffersMax;

// -- a batch ----------------------------------------------------------------------------------------------------------
inline constexpr std::uint32_t kBucketsAheadMax = 2;  // of the gateway's own UTC
// So long batches that are further ahead wait for one of the two clocks to be set, as after a start without the
// network.
inline constexpr std::uint64_t kClockTimeoutNs = 600'000'000'000;
inline constexpr std::uint64_t kAheadForgottenNs = 600'000'000'000;  // after the last of a session: it begins anew
static_assert(kAheadForgottenNs > 2 * limits::kRetryDeferredNs);

// -- sessions ---------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kSessionOverheadBytes = 2'048;   // of a session in memory, beside twice its Hello
inline constexpr std::uint32_t kSessionsKnownMax = 1U << 18;  // stored sessions whose identity is compared
// Of one session, told again after a reconnect, before the Welcome: what waits for a peer is bounded, and the Welcome
// must find room behind them. Those that aren't told come again and are refused again.
inline constexpr std::uint32_t kRefusalsRememberedMax = 8;
inline constexpr std::uint32_t kPartitionsRememberedMax = 4;  // of one session, chosen and known to hold its definition

// -- delivery ---------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kBatchSizeBytesGuess = 16U << 10;  // of a session that has sent none yet
inline constexpr std::uint64_t kCreditHoldNs = 10'000'000'000;  // a promise that isn't used counts so long
// An acknowledgement is repeated after so long, then after twice as long, and so on.
inline constexpr std::uint64_t kAckRepeatNsMin = 2 * limits::kAckIntervalNs;
inline constexpr std::uint64_t kAckRepeatNsMax = 8 * limits::kAckIntervalNs;
// Whoever said Bye is still somebody for so long after its last acknowledgement, which may have to be repeated.
inline constexpr std::uint64_t kEndedPeerKeptNs = 5 * limits::kAckIntervalNs;
// A group's time on a store that gateways share, where an operation costs as much as writing 300 KB.
inline constexpr std::uint64_t kSharedGroupCommitNs = 500'000'000;
inline constexpr std::uint64_t kLateWatermarkNs = 20'000'000'000;  // where a store is shared: until it is written
inline constexpr std::uint64_t kShardNewsNs = 50'000'000;          // between two looks for shards that come and go
inline constexpr std::uint64_t kStoreRetryNsMin = 100'000'000;
inline constexpr std::uint64_t kStoreRetryNsMax = 5'000'000'000;
inline constexpr std::size_t kReplyTextSizeBytesMax = 1'024;
inline constexpr std::uint64_t kWarningsMax =
    8;  // lines about collectors for the operator, an acknowledgement interval

// -- orders -----------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kRequestsMax = 4'096;       // that wait for their answers, of all sessions
inline constexpr std::size_t kRequestsOfSessionMax = 4;  // of one of them
inline constexpr std::uint64_t kRequestTimeoutNsMax = 3'600'000'000'000;

// -- abuse_limiter
// ---------------------------------------------------------------------------------------------------------- What a
// peer may do wrong of one sort before it is cut off; half is forgiven each acknowledgement interval. A collector that
// was promised more by a gateway that has forgotten it sends a window of batches at once, and again later.
inline constexpr std::uint32_t kMisdeedsMax = 4 * limits::kSendWindowBatches;
inline constexpr std::size_t kMisdeedsSizeBytesMax = 64U << 20;
inline constexpr std::uint32_t kPeersWatchedMax = 65'536;
// A collector repeats its Hello after an acknowledgement interval at the earliest, or when it is asked to. Of those
// that a peer says though it has its Welcome, so many are answered, less what decays; others cost their decoding alone.
inline constexpr std::uint32_t kHellosRepeatedMax = 8;
static_assert(kHellosRepeatedMax < kMisdeedsMax);

// -- cardinality ------------------------------------------------------------------------------------------------------
inline constexpr std::uint64_t kCardinalityWindowNs = 3'600'000'000'000;
inline constexpr std::uint32_t kTargetSessionsMax = 256;  // new ones of one target in a window, if not told otherwise
inline constexpr std::uint32_t kTargetLabelsMax = 1'024;  // key=value that nobody had before, of one target
inline constexpr std::uint32_t kNewTargetsMax = 65'536;   // of the gateway
inline constexpr std::uint32_t kNewLabelsMax = 1U << 18;  // of the gateway
inline constexpr std::uint32_t kTargetsKnownMax = 1U << 18;
inline constexpr std::uint32_t kLabelsKnownMax = 1U << 20;

// -- images -----------------------------------------------------------------------------------------------------------
inline constexpr std::uint64_t kImageAskAgainNs = 5'000'000'000;
inline constexpr std::uint32_t kImageAsksMax = 4;                // without an answer
inline constexpr std::size_t kImageRestsMax = 64;                // of images whose peer was gone in the middle
inline constexpr std::uint32_t kImagesRememberedMax = 1U << 16;  // build-ids known to be stored
// What the checks of one owner's images may cost (image_budget.h): at once, and in the long run.
inline constexpr std::uint64_t kImageUnpackedBytesMax = 512U << 20;
inline constexpr std::uint64_t kImageUnpackedBytesASecond = 32U << 20;
inline constexpr std::uint64_t kImageCpuNsMax = 2'000'000'000;
inline constexpr std::uint64_t kImageCpuNsASecond = 100'000'000;
inline constexpr std::uint32_t kImageChecksOfOwnerMax = 4;  // that wait or are under way
inline constexpr std::uint32_t kImageOwnersMax = 65'536;    // with a budget that isn't full
// A refused image counts as so many bytes beside those that it unpacked to, as a strike and in its owner's budget: the
// fifth within a second closes the connection, or an earlier one.
inline constexpr std::uint64_t kImageRefusedBytes = kMisdeedsSizeBytesMax / 4;

}  // namespace perfleet::intake_limits
