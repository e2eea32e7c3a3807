// Limits of the gateway alone. Limits that other programs share: batch_limits.h, delivery_limits.h, hello_limits.h.
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
inline constexpr std::uint32_t kBucketsAheadMax = 2;  // hours ahead of the gateway's own UTC
// Batches further ahead are deferred this long, so that one of the two clocks can be set, as after a start without
// network; then they are refused.
inline constexpr std::uint64_t kClockTimeoutNs = 600'000'000'000;
inline constexpr std::uint64_t kAheadForgottenNs = 600'000'000'000;  // without a batch ahead: the timeout begins anew
static_assert(kAheadForgottenNs > 2 * limits::kRetryDeferredNs);

// -- sessions ---------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kSessionOverheadBytes = 2'048;   // per session in memory, plus twice its Hello
inline constexpr std::uint32_t kSessionsKnownMax = 1U << 18;  // stored sessions whose identity is compared
// How many refused batches of a session a reconnected collector is informed of before its Welcome. The replies that
// wait for a peer are bounded, and the Welcome must fit behind these. A batch beyond this number is sent again and
// refused again.
inline constexpr std::uint32_t kRefusalsRememberedMax = 8;
inline constexpr std::uint32_t kPartitionsRememberedMax = 4;  // of a session: those with its definition, and the chosen
                                                              // ones

// -- delivery ---------------------------------------------------------------------------------------------------------
inline constexpr std::size_t kBatchSizeBytesGuess = 16U << 10;  // of a session that has sent no batch yet
inline constexpr std::uint64_t kCreditHoldNs = 10'000'000'000;  // credit that isn't used is counted for this long
// An acknowledgement is repeated after kAckRepeatNsMin, then after twice as long, and so on up to kAckRepeatNsMax.
inline constexpr std::uint64_t kAckRepeatNsMin = 2 * limits::kAckIntervalNs;
inline constexpr std::uint64_t kAckRepeatNsMax = 8 * limits::kAckIntervalNs;
// How long a closed session stays attached to its peer after its last acknowledgement, which may have to be repeated.
inline constexpr std::uint64_t kEndedPeerKeptNs = 5 * limits::kAckIntervalNs;
// How long a group gathers batches on a shared store, where one operation costs as much as writing 300 KB.
inline constexpr std::uint64_t kSharedGroupCommitNs = 500'000'000;
inline constexpr std::uint64_t kLateWatermarkNs = 20'000'000'000;  // on a shared store: a watermark is written by then
inline constexpr std::uint64_t kShardNewsNs = 50'000'000;          // between checks for gained and lost shards
inline constexpr std::uint64_t kStoreRetryNsMin = 100'000'000;
inline constexpr std::uint64_t kStoreRetryNsMax = 5'000'000'000;
inline constexpr std::size_t kReplyTextSizeBytesMax = 1'024;
inline constexpr std::uint64_t kWarningsMax =
    8;  // lines about collectors for the operator, an acknowledgement interval

// -- control requests -------------------------------------------------------------------------------------------------
inline constexpr std::size_t kRequestsMax = 4'096;       // without an answer, over all sessions
inline constexpr std::size_t kRequestsOfSessionMax = 4;  // of one session
inline constexpr std::uint64_t kRequestTimeoutNsMax = 3'600'000'000'000;

// -- abuse ------------------------------------------------------------------------------------------------------------
// Strikes of one kind after which a peer is disconnected; half of them decay each acknowledgement interval. A collector
// may legally send a whole window of batches at once, and again later, if the gateway was restarted and forgot its
// credit.
inline constexpr std::uint32_t kStrikesMax = 4 * limits::kSendWindowBatches;
inline constexpr std::size_t kStrikesSizeBytesMax = 64U << 20;
inline constexpr std::uint32_t kPeersWatchedMax = 65'536;
// A collector repeats its Hello once per acknowledgement interval at most, or when it is asked to. If a peer with a
// Welcome sends more Hellos than this, less what decays, the gateway decodes them but doesn't answer. Each byte of
// a repeated Hello counts kHelloBytesFactor times towards kStrikesSizeBytesMax, because decoding it takes longer.
inline constexpr std::uint32_t kHellosRepeatedMax = 8;
inline constexpr std::size_t kHelloBytesFactor = 16;
static_assert(kHellosRepeatedMax < kStrikesMax);

// -- cardinality ------------------------------------------------------------------------------------------------------
inline constexpr std::uint64_t kCardinalityWindowNs = 3'600'000'000'000;
inline constexpr std::uint32_t kTargetSessionsMax = 256;  // new ones of a target in a window (--target-sessions)
inline constexpr std::uint32_t kTargetLabelsMax = 1'024;  // new key=value pairs of one target in a window
inline constexpr std::uint32_t kNewTargetsMax = 65'536;   // of the gateway in a window
inline constexpr std::uint32_t kNewLabelsMax = 1U << 18;  // of the gateway in a window
inline constexpr std::uint32_t kTargetsKnownMax = 1U << 18;
inline constexpr std::uint32_t kLabelsKnownMax = 1U << 20;

// -- images -----------------------------------------------------------------------------------------------------------
inline constexpr std::uint64_t kImageAskAgainNs = 5'000'000'000;
inline constexpr std::uint32_t kImageAsksMax = 4;                // requests for one chunk without an answer
inline constexpr std::size_t kImageRestsMax = 64;                // incomplete images whose peer has disconnected
inline constexpr std::uint32_t kImagesRememberedMax = 1U << 16;  // build-ids known to be stored
// What the checks of one owner's images may cost (image_budget.h): bursts, and refill per second.
inline constexpr std::uint64_t kImageUnpackedBytesMax = 512U << 20;
inline constexpr std::uint64_t kImageUnpackedBytesASecond = 32U << 20;
inline constexpr std::uint64_t kImageCpuNsMax = 2'000'000'000;
inline constexpr std::uint64_t kImageCpuNsASecond = 100'000'000;
inline constexpr std::uint32_t kImageChecksOfOwnerMax = 4;  // waiting or running
inline constexpr std::uint32_t kImageOwnersMax = 65'536;    // with a budget that isn't full
// A refused image counts as this many bytes plus those that it unpacked to, as a strike and in its owner's budget. At
// the latest, the fifth within a second closes the connection.
inline constexpr std::uint64_t kImageRefusedBytes = kStrikesSizeBytesMax / 4;

}  // namespace perfleet::intake_limits
