// What a gateway counts about what came in: everything that it turned away has a reason, and each reason a name that an
// operator sees. Names may be added; what one means never changes.
//
// Counted by one thread, read by any as a copy, which is of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "schemas/vocabulary/duration_histogram.h"
#include "schemas/vocabulary/shared_value.h"

namespace perfleet {

// Why a peer was told Refused(0): its Hello or Bye can never be taken as it is.
enum class SessionRefusal : std::uint8_t {
    kVersion,    // no protocol version in common
    kMalformed,  // lists that can't be read, or texts, labels, events that break their rules
    kTooLarge,   // past a limit of a Hello
    kIdentity,   // a session of another target, or a target that isn't the one of the peer's key
    kConflict,   // a session that is known with another description
    kQuota,      // too many sessions of one target, or targets or label values of one gateway
    kFull,       // no room for another session now
    kBye,        // a Bye that breaks its rules
    kReplay,     // a session whose clock or sequence is behind what is known of it
    kCount,
};

// Why a batch can never be stored: Refused(seq).
enum class BatchRefusal : std::uint8_t {
    kUnreadable,  // its lists are no Cap'n Proto of this schema: pointers out of bounds, too deep, read twice
    kTooLarge,    // counts or bytes past a limit
    kHeader,      // its numbers contradict each other
    kFuture,      // a time bucket far ahead of the gateway's clock, and has been for a while
    kCounters,    // counters that break their rules
    kRange,       // dropped ranges that lie
    kSeal,        // the content isn't what was sealed
    kSeries,      // an event that the session doesn't have, or a series that is there twice
    kColumn,      // columns that are missing, lie about their length, or hold values out of range
    kConflict,    // its seq is stored with other content
    kNewer,       // a kind or codec that this gateway doesn't know
    kCount,
};

// Why a batch was neither taken nor refused: it stays with its collector and comes again.
enum class BatchIgnored : std::uint8_t {
    kStoreStuck,    // the store can't write now
    kNoSession,     // of a peer that has said no Hello, or another one's; it is asked to say it
    kBeyondCredit,  // past the seq up to which its collector may send
    kBeyondWindow,  // so far past its session's prefix that it can't be remembered
    kAhead,         // a time bucket far ahead of the gateway's clock, for now; its collector is told
    kCount,
};

// Why a message was dropped without being understood.
enum class MessageMalformed : std::uint8_t {
    kTooLarge,    // past the size of a message
    kTruncated,   // empty, or no multiple of 8 bytes
    kChecksum,    // damaged on its way; its sender repeats what isn't acknowledged
    kUnreadable,  // no Cap'n Proto message of this schema
    kSeq,         // a batch numbered 0
    kCount,
};

// Why the gateway closed a connection.
enum class PeerCut : std::uint8_t {
    kCredit,     // went on sending past its credit
    kMalformed,  // went on sending what can't be understood
    kRefused,    // went on sending what was refused
    kNoSession,  // went on sending what belongs to a session that it has not opened
    kHello,      // went on saying Hello where it had its Welcome
    kImages,     // went on sending images that were refused
    kCount,
};

// Why an image that a collector sent isn't stored.
enum class ImageRefusal : std::uint8_t {
    kType,      // not known
    kTooLarge,  // as sent, or unpacked
    kDamaged,   // no zstd frame that tells its size, or one that lies about it
    kContent,   // not what its type says
    kBuildId,   // of another build than the one it was sent for
    kRatio,     // unpacks to far more than symbols of its size do
    kCount,
};

// What became of an operator's request to one session.
enum class RequestOutcome : std::uint8_t {
    kApplied,
    kRefused,       // by the target, or because it can't be its
    kNotConnected,  // nobody speaks for the session now
    kNoAnswer,      // within the operator's timeout
    kCount,
};

// Lower-case words with underscores: "too_large".
[[nodiscard]] std::string_view reason_name(SessionRefusal reason);
[[nodiscard]] std::string_view reason_name(BatchRefusal reason);
[[nodiscard]] std::string_view reason_name(BatchIgnored reason);
[[nodiscard]] std::string_view reason_name(MessageMalformed reason);
[[nodiscard]] std::string_view reason_name(PeerCut reason);
[[nodiscard]] std::string_view reason_name(ImageRefusal reason);
[[nodiscard]] std::string_view reason_name(RequestOutcome outcome);

template <class Reason>
inline constexpr std::size_t kReasonCount = static_cast<std::size_t>(Reason::kCount);

// One count for each reason; the index is the reason's number.
template <class Reason>
struct CountsByReason {
    std::array<SharedCount, kReasonCount<Reason>> counts{};

    void add(Reason reason) { ++counts[static_cast<std::size_t>(reason)]; }
    [[nodiscard]] std::uint64_t of(Reason reason) const { return counts[static_cast<std::size_t>(reason)]; }
    [[nodiscard]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts) {
            sum += count;
        }
        return sum;
    }
};

// Rows that collectors said they lost. The index is the number of the CountName; the last one takes all that are
// higher.
using LossCounts = std::array<std::uint64_t, 16>;

// Since the start, but for what is there "now".
struct GatewayCounts {
    SharedCount messages;          // of any sort, malformed ones too
    SharedCount messages_bytes;    // of those that are one frame
    SharedCount messages_dropped;  // unread: too much of its peer, or of all, was waiting; batches come again
    SharedCount replies_dropped;   // to peers that don't read; what matters is repeated
    SharedCount batches_stored;
    SharedCount batches_duplicate;
    SharedCount batches_expired;
    SharedCount batches_skipped;  // not stored, and their collectors don't have them any more
    SharedCount rows_stored;
    SharedCount images_stored;
    SharedCount images_deferred;  // times that a peer had to wait for its budget before its next image was asked for
    SharedCount group_commits;
    SharedCount commits_failed;  // and tried again
    std::array<SharedCount, std::tuple_size_v<LossCounts>> rows_lost{};

    CountsByReason<SessionRefusal> sessions_refused;
    CountsByReason<BatchRefusal> batches_refused;
    CountsByReason<BatchIgnored> batches_ignored;
    CountsByReason<MessageMalformed> messages_malformed;
    CountsByReason<PeerCut> peers_cut;
    CountsByReason<ImageRefusal> images_refused;
    CountsByReason<RequestOutcome> requests;

    // From a batch's arrival to its first acknowledgement, of the oldest in each acknowledgement.
    DurationHistogram acknowledged_after;
    DurationHistogram commits_took;  // group commits, sync included

    SharedValue<bool> is_store_stuck;  // the store can't write now
    SharedCount peers_now;             // that have said Hello and are there
    SharedCount sessions_now;          // in memory
    SharedCount shards_now;            // held, where gateways share the store
    SharedCount peers_sent_elsewhere;
    SharedCount memory_bytes_max;  // the ceiling of the process
    SharedCount memory_bytes_now;  // what peers have filled of it: messages, batches, images, sessions
    SharedCount credit_bytes_max;  // what all peers together may be promised
    SharedCount credit_bytes_now;
    SharedCount image_checks_now;  // that wait or are under way
};

}  // namespace perfleet
