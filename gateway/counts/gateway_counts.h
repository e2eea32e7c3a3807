// The gateway's counters of what it received. Everything that it rejects has a reason, and each reason a name that
// operators see. Names may be added; the meaning of a name never changes.
//
// One thread counts; any thread reads a copy of fixed size.
#pragma once

#include <cstdint>

#include "schemas/host/counter.h"
#include "schemas/vocabulary/duration_histogram.h"
#include "schemas/vocabulary/shared_value.h"

namespace perfleet {

// Why a peer got Refused(0): its Hello or Bye can never be accepted as it is.
PERFLEET_REASONS(SessionRefusal,
                 kVersion,    // no protocol version in common
                 kMalformed,  // unreadable lists, or invalid texts, labels or events
                 kTooLarge,   // past a limit of a Hello
                 kIdentity,   // a session of another target, or a target that isn't the one of the peer's key
                 kConflict,   // a session that is known with another description
                 kQuota,      // too many sessions of one target, or targets or label values of one gateway
                 kFull,       // no space for another session now
                 kBye,        // an invalid Bye
                 kReplay)     // its clock or sequence is behind what is known of the session

// Why a batch can never be stored: Refused(seq).
PERFLEET_REASONS(
    BatchRefusal,
    kUnreadable,  // its lists are not Cap'n Proto of this schema: pointers out of bounds, too deep, read twice
    kTooLarge,    // counts or bytes past a limit
    kHeader,      // its numbers contradict each other
    kFuture,      // a time bucket that has been far ahead of the gateway's clock for a while
    kCounters,    // invalid counters
    kRange,       // invalid dropped ranges
    kSeal,        // the seal doesn't match the content
    kSeries,      // an event that the session doesn't have, or a series that is there twice
    kColumn,      // columns that are missing, of the wrong length, or with values out of range
    kConflict,    // its seq is stored with other content
    kNewer)       // a kind or codec that this gateway doesn't know

// Why a batch was neither stored nor refused: its collector keeps it and sends it again.
PERFLEET_REASONS(BatchIgnored,
                 kStoreStuck,    // the store can't write now
                 kNoSession,     // its peer has sent no Hello, or named another session; the peer is asked for a Hello
                 kBeyondCredit,  // past the seq up to which its collector may send
                 kBeyondWindow,  // too far above its session's prefix to be remembered
                 kAhead)         // a time bucket far ahead of the gateway's clock, for now; the collector is informed

// Why a message was dropped as malformed.
PERFLEET_REASONS(MessageMalformed,
                 kTooLarge,    // past the size of a message
                 kTruncated,   // empty, or no multiple of 8 bytes
                 kChecksum,    // damaged on its way; its sender repeats what isn't acknowledged
                 kUnreadable,  // no Cap'n Proto message of this schema
                 kSeq)         // a batch numbered 0

// Why the gateway closed a connection.
PERFLEET_REASONS(PeerCut,
                 kCredit,     // kept sending beyond its credit
                 kMalformed,  // kept sending malformed messages
                 kRefused,    // kept sending what was refused
                 kNoSession,  // kept sending for a session that it had not opened
                 kHello,      // kept sending Hello after its Welcome
                 kImages)     // kept sending images that were refused

// Why an image that a collector sent isn't stored.
PERFLEET_REASONS(ImageRefusal,
                 kType,      // not known
                 kTooLarge,  // as sent, or unpacked
                 kDamaged,   // not a zstd frame that states its size, or the size is wrong
                 kContent,   // not of its type
                 kBuildId,   // of another build than the one it was sent for
                 kRatio)     // excessive compression ratio

// The outcome of an operator's request to one session.
PERFLEET_REASONS(RequestOutcome, kApplied,
                 kRefused,       // by the target, or invalid for the session
                 kNotConnected,  // no peer is attached to the session now
                 kNoAnswer)      // within the operator's timeout

}  // namespace perfleet

// Since the start, except values "now".
#define PERFLEET_GATEWAY_COUNTS(ROW)                                                                                  \
    ROW(SharedCount, peers_now, "peers", "Connected collectors with a session.")                                      \
    ROW(SharedCount, sessions_now, "sessions", "Sessions held in memory.")                                            \
    ROW(SharedCount, shards_now, "shards", "Shards held, where gateways share the store; else 0.")                    \
    ROW(SharedCount, peers_sent_elsewhere, "peers_sent_elsewhere_total",                                              \
        "Hellos of targets whose shard another gateway holds, answered with that gateway's address.")                 \
    ROW(SharedCount, messages, "messages_total", "Messages received, including malformed ones.")                      \
    ROW(SharedCount, messages_bytes, "received_bytes_total", "Bytes of messages received.")                           \
    ROW(SharedCount, messages_dropped, "messages_dropped_total",                                                      \
        "Messages dropped because the inbox was full; batches are resent.")                                           \
    ROW(SharedCount, replies_dropped, "replies_dropped_total", "Replies dropped because the peer does not read.")     \
    ROW(CountsByReason<MessageMalformed>, messages_malformed, "messages_malformed_total",                             \
        "Malformed messages dropped.")                                                                                \
    ROW(CountsByReason<SessionRefusal>, sessions_refused, "peers_refused_total",                                      \
        "Sessions refused; reason quota: deferred.")                                                                  \
    ROW(CountsByReason<PeerCut>, peers_cut, "peers_cut_total", "Connections closed by the gateway.")                  \
    ROW(CountsByReason<RequestOutcome>, requests, "control_requests_total",                                           \
        "Control requests to sessions, by outcome.", "outcome")                                                       \
    ROW(SharedCount, batches_stored, "batches_total", "Batches answered, by outcome.", "outcome", "stored")           \
    ROW(SharedCount, batches_duplicate, "batches_total", "Batches answered, by outcome.", "outcome", "duplicate")     \
    ROW(SharedCount, batches_expired, "batches_total", "Batches answered, by outcome.", "outcome", "expired")         \
    ROW(SharedCount, batches_skipped, "batches_skipped_total",                                                        \
        "Batches not stored that their collectors no longer have: dropped, or acknowledged by a newer store.")        \
    ROW(CountsByReason<BatchRefusal>, batches_refused, "batches_refused_total", "Batches that can never be stored.")  \
    ROW(CountsByReason<BatchIgnored>, batches_ignored, "batches_ignored_total",                                       \
        "Batches not accepted now; collectors resend them.")                                                          \
    ROW(SharedCount, rows_stored, "rows_stored_total", "Rows stored, including definitions.")                         \
    ROW(SharedCount, images_stored, "images_stored_total", "Images stored.")                                          \
    ROW(CountsByReason<ImageRefusal>, images_refused, "images_refused_total",                                         \
        "Images that collectors sent and that aren't stored.")                                                        \
    ROW(SharedCount, images_deferred, "images_deferred_total",                                                        \
        "Times that a peer's next image waited because earlier checks had used its budget.")                          \
    ROW(SharedCount, image_checks_now, "image_checks", "Images that wait for their check or are being checked.")      \
    ROW(DurationHistogram, acknowledged_after, "acknowledgement_seconds",                                             \
        "From a batch's arrival to its acknowledgement, of the oldest in each acknowledgement.")                      \
    ROW(CountsOfLosses<SharedCount>, rows_lost, "rows_lost_total",                                                    \
        "Rows that collectors report as lost, excluding definitions.")                                                \
    ROW(SharedCount, group_commits, "commits_total", "Group commits that are on disk.")                               \
    ROW(SharedCount, commits_failed, "commits_failed_total", "Group commits that failed, to be tried again.")         \
    ROW(DurationHistogram, commits_took, "commit_seconds", "Duration of group commits, sync included.")               \
    ROW(SharedValue<bool>, is_store_stuck, "store_stuck",                                                             \
        "1 while the store can't write, so that nothing is acknowledged.")                                            \
    ROW(SharedCount, memory_bytes_max, "memory_limit_bytes", "Memory budget for data from collectors; 0: unlimited.") \
    ROW(SharedCount, memory_bytes_now, "memory_used_bytes", "Memory used or reserved of that budget.")                \
    ROW(SharedCount, credit_bytes_max, "", "Limit of the bytes that all peers together may be granted as credit.")    \
    ROW(SharedCount, credit_bytes_now, "", "Bytes that they are granted.")

namespace perfleet {

using LossCounts = CountsOfLosses<std::uint64_t>;

struct GatewayCounts {
    PERFLEET_GATEWAY_COUNTS(PERFLEET_COUNT_FIELD)
};

}  // namespace perfleet
