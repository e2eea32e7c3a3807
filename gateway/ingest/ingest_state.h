// What Ingest holds, and what it does with each message: ingest.cpp (replies, what is due), ingest_messages.cpp.
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
    const Enrolment* speaker = nullptr;  // whose frame is taken now, where there are keys
    bool is_speaker_local = false;       // Origin::is_local
    std::uint64_t arrived_ns = 0;        // when that frame came
    std::size_t frame_size_bytes = 0;
    Decoder decoder;
    BatchAdmission admission;
    CreditAccounts credit;
    SessionTable table;
    Acknowledger acknowledger;
    AbuseLimiter abuse_limiter{
        {intake_limits::kMisdeedsMax, intake_limits::kMisdeedsSizeBytesMax, intake_limits::kPeersWatchedMax}};
    Cardinality cardinality;
    CommitGroup group;
    ImageIntake images;
    ControlRequestQueue requests;
    std::uint64_t gathering_since_ns = 0;
    std::uint64_t last_round_ns = 0;
    std::uint64_t last_news_ns = 0;        // of shards
    std::uint64_t last_watermarks_ns = 0;  // that were written
    std::uint64_t retry_at_ns = 0;
    std::uint64_t retry_after_ns = 0;  // 0: the store works
    std::string store_trouble;         // why it doesn't
    std::uint64_t warning_count = 0;   // since the last round
    std::set<std::string>
        reported_damage{};  // a store names no more of it than DamageNotes::kMax, each time it is opened
    GatewayCounts counts;

    State(Options with, Store& into, PeerLink& over);

    void log(const LogEvent& event) const;
    [[nodiscard]] std::uint64_t time_ns(const Now& now) const;
    // About what a collector does, in its own words: only some in a while, and nothing that moves a terminal's cursor.
    void warn(std::string text);
    [[nodiscard]] bool is_stuck() const { return retry_after_ns != 0; }
    void send(const std::string& routing_id, const Frame& frame) const { link.send(routing_id, frame); }
    // The peer goes on doing what it must not: at some time it is enough. True: it was cut off.
    bool misbehaved(const std::string& routing_id, PeerCut reason, std::size_t size_bytes);
    void forget_peer(const std::string& routing_id);
    void refuse_session(const std::string& routing_id, SessionId session, SessionRefusal why,
                        protocol::RefusedReason reason, const std::string& message);
    void refuse_batch(Session& session, Seq seq, protocol::RefusedReason reason, const std::string& message);

    // -- messages: ingest_messages.cpp

    // The session that this peer speaks for, if it is the one that it names; else it is asked to say Hello again.
    SessionPtr session_of(const std::string& routing_id, const SessionId& named);
    // A peer that was granted a session and asks again: its Welcome was lost or is on the way. Who has used the session
    // knows it: that asks for another one.
    void give_session(const std::string& routing_id, SessionRecord& record);
    // Whether the target's shard is this gateway's; if not its collector is told whose it is.
    [[nodiscard]] bool is_here(const std::string& routing_id, const SessionRecord& record);
    // The session of an admitted Hello, where its clock read `clock`; null when the answer was a refusal or has to
    // wait.
    SessionPtr open_session(const std::string& routing_id, SessionRecord record, Ticks clock, std::size_t size_bytes,
                            const Now& now);
    // Whether the peer says Hello so often, though it has its Welcome, that it gets no answer.
    [[nodiscard]] bool is_hello_ignored(const std::string& routing_id, const SessionId& session);
    void on_hello(const std::string& routing_id, const HelloUntrusted& hello_untrusted, std::size_t size_bytes,
                  const Now& now);
    void on_batch(const std::string& routing_id, const BatchUntrusted& batch_untrusted, const Now& now);
    // Puts its session off for a while, then refuses it.
    void on_batch_ahead(const std::string& routing_id, Session& session, const BatchUntrusted& batch, const Now& now);
    // Nothing where the store can't say it now.
    std::optional<Partition> partition_for(Session& session, BucketNumber bucket);
    // Left with its collector.
    void ignore(const std::string& routing_id, BatchIgnored reason, const BatchUntrusted& batch);
    // Whether the batch's seq is resolved or gathered already, with the same seal or another. If so, answers it.
    enum class Recognised : std::uint8_t { kNew, kSame, kConflict };
    Recognised recognise(const SessionPtr& session, const BatchUntrusted& batch);
    // What an admitted batch says of those before it.
    void take_oldest_retained(const SessionPtr& session, Seq oldest);
    void on_conflict(Session& session, Seq seq);
    void on_bye(const std::string& routing_id, const ByeUntrusted& bye_untrusted, const Now& now);
    void on_image_offers(const std::string& routing_id, const ImageOffersUntrusted& offers_untrusted, const Now& now);
    void on_image(const std::string& routing_id, const ImageUntrusted& image_untrusted, const Now& now);
    void on_checked(CheckedImage checked, const Now& now);
    // Why an image isn't stored; counted, and as a strike where it is the peer's doing.
    void refuse_image(const std::string& routing_id, ImageRefusal refusal, std::uint64_t unpacked_bytes);
    void on_controlled(const std::string& routing_id, const ControlledUntrusted& controlled, const Now& now);
    void ask_for_image(const std::string& routing_id, const Now& now);
    [[nodiscard]] ImageIntake::Offerer offerer(const std::string& routing_id, SessionId session) const;

    // -- shards that come and go
    Result<Done> take_shard_news(const Now& now);
    // A session of the store, of which nothing else is kept in memory.
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
    // Those who sent something while the store was stuck.
    void ask_again();
    void store_again();
    Result<Done> wait_for_store(const Error& error, const Now& now);
    // Repeats acknowledgements to everybody who is there, for any may have been lost, and looks after images.
    void go_round(const Now& now);
    // Logs what of the store was found damaged since.
    void report_damage();
};

}  // namespace perfleet
