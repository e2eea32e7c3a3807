// The state of Ingest and how it handles each message: ingest.cpp (replies, due work), ingest_messages.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "gateway/admission/admit_batch.h"
#include "gateway/admission/decode.h"
#include "gateway/admission/image_intake.h"
#include "gateway/admission/intake_limits.h"
#include "gateway/counts/gateway_counts.h"
#include "gateway/ingest/acknowledger.h"
#include "gateway/ingest/commit_group.h"
#include "gateway/ingest/credit_accounts.h"
#include "gateway/ingest/ingest.h"
#include "gateway/ingest/reply.h"
#include "gateway/ingest/session_table.h"
#include "schemas/peers/abuse_limiter.h"

namespace perfleet {

struct Ingest::State {
    Options options;
    Store& store;
    ShardLeases* leases;  // null: all shards are this gateway's
    PeerLink& link;
    const Enrolment* speaker = nullptr;  // of the peer whose frame is handled; null without keys
    bool is_speaker_local = false;       // Origin::is_local
    std::uint64_t arrived_ns = 0;        // when that frame came
    std::size_t frame_size_bytes = 0;
    Decoder decoder;
    BatchAdmission admission;
    CreditAccounts credit;
    SessionTable table;
    Acknowledger acknowledger;
    AbuseLimiter abuse_limiter{
        {intake_limits::kStrikesMax, intake_limits::kStrikesSizeBytesMax, intake_limits::kPeersWatchedMax}};
    Cardinality cardinality;
    CommitGroup group;
    ImageIntake images;
    ControlRequestQueue requests;
    std::uint64_t gathering_since_ns = 0;
    std::uint64_t last_round_ns = 0;
    std::uint64_t last_news_ns = 0;        // when shards were last checked
    std::uint64_t last_watermarks_ns = 0;  // when watermarks were last written
    std::uint64_t retry_at_ns = 0;
    std::uint64_t retry_after_ns = 0;         // 0: the store works
    std::string store_trouble;                // why the store doesn't work
    std::uint64_t warning_count = 0;          // since the last round
    std::set<std::string> reported_damage{};  // at most DamageNotes::kMax texts each time the store is opened
    GatewayCounts counts;

    State(Options with, Store& into, PeerLink& over);

    void log(const LogEvent& event) const;
    [[nodiscard]] std::uint64_t time_ns(const Now& now) const;
    // Logs an event of a collector with text from the collector: only a few lines per interval, without control
    // characters.
    void warn(std::string text);
    [[nodiscard]] bool is_stuck() const { return retry_after_ns != 0; }
    void send(const std::string& routing_id, const Frame& frame) const { link.send(routing_id, frame); }
    // Adds a strike to the peer for `reason`. True: it was one too many, and the peer was disconnected.
    bool add_strike(const std::string& routing_id, PeerCut reason, std::size_t size_bytes);
    void forget_peer(const std::string& routing_id);
    void refuse_session(const std::string& routing_id, SessionId session, SessionRefusal why,
                        protocol::RefusedReason reason, const std::string& message);
    void refuse_batch(Session& session, Seq seq, protocol::RefusedReason reason, const std::string& message);

    // -- messages: ingest_messages.cpp

    // The session that this peer is attached to, if it is `named`; else null, and the peer is asked for a Hello.
    SessionPtr session_of(const std::string& routing_id, const SessionId& named);
    // Grants a session id. A peer that was granted one and asks again, because its Welcome was lost or is on the way,
    // gets the same id; one that has sent batches knows its id, so it asks for another session.
    void give_session(const std::string& routing_id, SessionRecord& record);
    // Whether this gateway holds the target's shard; if not, the collector is referred to the gateway that does.
    [[nodiscard]] bool is_here(const std::string& routing_id, const SessionRecord& record);
    // The session of an admitted Hello, at which its clock read `clock`; null: the Hello was refused or must wait.
    SessionPtr open_session(const std::string& routing_id, SessionRecord record, Ticks clock, std::size_t size_bytes,
                            const Now& now);
    // Whether a peer with a Welcome sends Hello so often that it gets no answer.
    [[nodiscard]] bool is_hello_ignored(const std::string& routing_id, const SessionId& session);
    void on_hello(const std::string& routing_id, const HelloUntrusted& hello_untrusted, std::size_t size_bytes,
                  const Now& now);
    void on_batch(const std::string& routing_id, const BatchUntrusted& batch_untrusted, const Now& now);
    // Defers the session for a while, then refuses its batches.
    void on_batch_ahead(const std::string& routing_id, Session& session, const BatchUntrusted& batch, const Now& now);
    // Empty if the store can't be read now.
    std::optional<Partition> partition_for(Session& session, BucketNumber bucket);
    // Counts a batch that stays with its collector, also as a strike.
    void ignore(const std::string& routing_id, BatchIgnored reason, const BatchUntrusted& batch);
    // Whether the batch's seq is resolved or in the group already, with the same seal or another. If so, answers it.
    enum class Recognised : std::uint8_t { kNew, kSame, kConflict };
    Recognised recognise(const SessionPtr& session, const BatchUntrusted& batch);
    // Takes the oldest seq that the collector of an admitted batch keeps.
    void take_oldest_retained(const SessionPtr& session, Seq oldest);
    void on_conflict(Session& session, Seq seq);
    void on_bye(const std::string& routing_id, const ByeUntrusted& bye_untrusted, const Now& now);
    void on_image_offers(const std::string& routing_id, const ImageOffersUntrusted& offers_untrusted, const Now& now);
    void on_image(const std::string& routing_id, const ImageUntrusted& image_untrusted, const Now& now);
    void on_checked(CheckedImage checked, const Now& now);
    // Counts an image that isn't stored, by reason, and as a strike if it is the peer's fault.
    void refuse_image(const std::string& routing_id, ImageRefusal refusal, std::uint64_t unpacked_bytes);
    void on_controlled(const std::string& routing_id, const ControlledUntrusted& controlled, const Now& now);
    void ask_for_image(const std::string& routing_id, const Now& now);
    [[nodiscard]] ImageIntake::Offerer offerer(const std::string& routing_id, SessionId session) const;

    // -- gained and lost shards
    Result<Done> take_shard_news(const Now& now);
    // Remembers a stored session; nothing else of it is kept in memory.
    void know(const SessionRecord& stored);
    [[nodiscard]] Result<Done> enter_shards(std::span<const std::uint16_t> shards);
    void leave_shard(std::uint16_t shard);

    // -- what is due

    [[nodiscard]] std::uint64_t group_ns() const {
        return leases != nullptr ? intake_limits::kSharedGroupCommitNs : limits::kGroupCommitNs;
    }
    [[nodiscard]] bool is_group_full() const;
    [[nodiscard]] bool is_commit_due(const Now& now) const;
    [[nodiscard]] bool are_watermarks_due(const Now& now) const {
        return leases == nullptr || now.monotonic_ns - last_watermarks_ns >= intake_limits::kLateWatermarkNs;
    }
    Result<Done> commit(const Now& now, bool writes_watermarks = false);
    // Asks peers for a Hello whose messages were ignored while the store was stuck, so that they send them again.
    void ask_again();
    void store_again();
    Result<Done> wait_for_store(const Error& error, const Now& now);
    // Repeats acknowledgements, which may have been lost, to all peers, and continues transfers of images.
    void go_round(const Now& now);
    // Logs damage of the store that was found since the last call.
    void report_damage();
};

}  // namespace perfleet
